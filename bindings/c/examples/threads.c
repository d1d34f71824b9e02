/* Two threads send a thousand numbers each to the main thread. */

#include <corelane.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

enum { NUMBERS = 1000, THREADS = 2 };

static long numbers[NUMBERS];

static void *send_all(void *handle)
{
    corelane_bbq_producer *producer = handle;
    for (int i = 0; i < NUMBERS; i++)
        while (corelane_bbq_push(producer, &numbers[i]) != CORELANE_OK)
            sched_yield();
    corelane_bbq_producer_destroy(producer);
    return NULL;
}

int main(void)
{
    corelane_bbq_producer *producers[THREADS];
    corelane_bbq_consumer *consumer;
    if (corelane_bbq_create(64, &producers[0], &consumer) != CORELANE_OK)
        return 1;
    producers[1] = corelane_bbq_producer_clone(producers[0]);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, send_all, producers[i]) != 0)
            return 1;

    long count = 0, sum = 0;
    void *item;
    corelane_status status;
    while ((status = corelane_bbq_pop(consumer, &item)) != CORELANE_CLOSED) {
        if (status != CORELANE_OK) {
            sched_yield();
            continue;
        }
        sum += *(long *)item;
        count++;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    corelane_bbq_consumer_destroy(consumer);
    printf("%ld numbers, sum %ld\n", count, sum);
    return 0;
}
