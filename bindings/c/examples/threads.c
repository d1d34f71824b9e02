/* Two threads send a thousand numbers each to the main thread. */

#include <corelane.h>
#include <pthread.h>
#include <stdio.h>

enum { NUMBERS = 1000, THREADS = 2 };

static void *send_all(void *handle)
{
    corelane_producer *producer = handle;
    for (long number = 0; number < NUMBERS; number++)
        if (corelane_push(producer, &number, CORELANE_FOREVER) != CORELANE_STATUS_OK)
            break;
    corelane_producer_close(&producer);
    return NULL;
}

int main(void)
{
    corelane_producer *producers[THREADS];
    corelane_consumer *consumer;
    corelane_status status =
        corelane_create(CORELANE_KIND_SEVERAL, 64, sizeof(long), &producers[0], &consumer);
    if (status != CORELANE_STATUS_OK) {
        fprintf(stderr, "%s\n", corelane_status_text(status));
        return 1;
    }
    producers[1] = corelane_producer_clone(producers[0]);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, send_all, producers[i]) != 0)
            return 1;

    long count = 0, sum = 0, number;
    while (corelane_pop(consumer, &number, CORELANE_FOREVER) == CORELANE_STATUS_OK) {
        sum += number;
        count++;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    corelane_consumer_close(&consumer);
    printf("%ld numbers, sum %ld\n", count, sum);
    return 0;
}
