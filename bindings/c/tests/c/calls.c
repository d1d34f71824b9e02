/* Each call of the header, as C programs use it. Ends with 0 if all is as documented. */

#include <corelane.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            const char *error = corelane_last_error();                        \
            fprintf(stderr, "%s:%d: not so: %s (last error: %s)\n", __FILE__, \
                    __LINE__, #condition, error ? error : "none");            \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define OK CORELANE_STATUS_OK

enum { MILLISECOND = 1000000, SOME = 20000 };

struct tick {
    uint64_t number, product;
};

static struct tick tick(uint64_t number)
{
    return (struct tick){number, number * 0x9E3779B97F4A7C15};
}

static void arguments(void)
{
    corelane_producer *tx = NULL;
    corelane_consumer *rx = NULL;
    const corelane_kind kind = CORELANE_KIND_ONE_TO_ONE;
    CHECK(corelane_abi_version() == CORELANE_ABI_VERSION);
    CHECK(corelane_create(kind, 0, 8, &tx, &rx) == CORELANE_STATUS_INVALID);
    CHECK(strstr(corelane_last_error(), "capacity") != NULL);
    CHECK(corelane_create(kind, 8, 0, &tx, &rx) == CORELANE_STATUS_INVALID);
    CHECK(corelane_create(kind, 8, 1025, &tx, &rx) == CORELANE_STATUS_INVALID);
    CHECK(corelane_create(kind, 8, 8, NULL, &rx) == CORELANE_STATUS_INVALID);
    CHECK(corelane_create(kind, SIZE_MAX, 8, &tx, &rx) == CORELANE_STATUS_INVALID);
    CHECK(tx == NULL && rx == NULL);

    uint64_t item = 0;
    size_t n = 3;
    CHECK(corelane_push(NULL, &item, 0) == CORELANE_STATUS_INVALID);
    CHECK(corelane_pop(NULL, &item, 0) == CORELANE_STATUS_INVALID);
    CHECK(corelane_push_many(NULL, &item, 1, 0) == 0);
    CHECK(corelane_pop_many(NULL, &item, 1, 0) == 0);
    CHECK(corelane_producer_clone(NULL) == NULL && corelane_producer_is_closed(NULL));
    CHECK(corelane_consumer_capacity(NULL) == 0);
    CHECK(corelane_steal(NULL, &item, &n) == CORELANE_STATUS_INVALID && n == 0);
    corelane_producer_close(&tx);
    corelane_producer_close(NULL);
    for (int status = OK; status <= CORELANE_STATUS_CORRUPT; status++)
        CHECK(strlen(corelane_status_text((corelane_status)status)) > 10);
}

/* Items of any size come out as they went in, by each call. */
static void items(corelane_kind kind, size_t size)
{
    corelane_producer *tx;
    corelane_consumer *rx;
    unsigned char in[8][1024], out[8 * 1024];
    CHECK(corelane_create(kind, 8, size, &tx, &rx) == OK);
    CHECK(corelane_producer_item_size(tx) == size && corelane_consumer_item_size(rx) == size);
    CHECK(corelane_producer_capacity(tx) >= 8 && corelane_producer_peer(tx) == CORELANE_PEER_THREADS);
    CHECK(corelane_pop(rx, out, 0) == CORELANE_STATUS_EMPTY);
    CHECK(corelane_pop(rx, out, MILLISECOND) == CORELANE_STATUS_EMPTY);
    for (int i = 0; i < 8; i++)
        memset(in[i], 'a' + i, sizeof(in[i]));
    CHECK(corelane_push(tx, in[0], 0) == OK);
    CHECK(corelane_push(tx, in[1], MILLISECOND) == OK);
    CHECK(corelane_push(tx, in[2], CORELANE_FOREVER) == OK);
    CHECK(corelane_producer_len(tx) == 3 && corelane_consumer_len(rx) == 3);
    for (int i = 0; i < 3; i++) {
        memset(out, 0, sizeof(out));
        CHECK(corelane_pop(rx, out, i == 0 ? 0 : CORELANE_FOREVER) == OK);
        CHECK(memcmp(out, in[i], size) == 0 && out[size] == 0);
    }
    unsigned char *packed = malloc(8 * size + 1);
    for (int i = 0; i < 8; i++)
        memset(packed + 1 + i * size, 'a' + i, size);
    /* From an odd address. */
    CHECK(corelane_push_many(tx, packed + 1, 8, 0) == 8);
    CHECK(corelane_pop_many(rx, out, 3, 0) == 3);
    CHECK(corelane_pop_many(rx, out + 3 * size, 8, CORELANE_FOREVER) == 5);
    CHECK(memcmp(out, packed + 1, 8 * size) == 0);
    CHECK(corelane_pop_many(rx, out, 8, MILLISECOND) == 0);
    free(packed);

    CHECK(corelane_push(tx, in[7], 0) == OK);
    corelane_producer_close(&tx);
    corelane_producer_close(&tx);
    CHECK(tx == NULL && corelane_consumer_is_closed(rx));
    CHECK(corelane_pop(rx, out, CORELANE_FOREVER) == OK && out[0] == 'h');
    CHECK(corelane_pop(rx, out, CORELANE_FOREVER) == CORELANE_STATUS_CLOSED);
    corelane_consumer_close(&rx);
}

static void full_and_closed(corelane_kind kind)
{
    corelane_producer *tx;
    corelane_consumer *rx;
    CHECK(corelane_create(kind, 4, sizeof(int), &tx, &rx) == OK);
    int number = 0;
    while (corelane_push(tx, &number, 0) == OK)
        number++;
    CHECK(number >= 4);
    CHECK(corelane_push(tx, &number, MILLISECOND) == CORELANE_STATUS_FULL);
    CHECK(corelane_push_many(tx, &number, 1, MILLISECOND) == 0);
    for (int expected = 0, popped; expected < number; expected++)
        CHECK(corelane_pop(rx, &popped, 0) == OK && popped == expected);
    corelane_consumer_close(&rx);
    CHECK(corelane_producer_is_closed(tx));
    while (corelane_push(tx, &number, 0) == OK)
        ;
    CHECK(corelane_push(tx, &number, CORELANE_FOREVER) == CORELANE_STATUS_CLOSED);
    corelane_producer_close(&tx);
}

static void loans(corelane_kind kind)
{
    corelane_producer *tx;
    corelane_consumer *rx;
    void *place;
    size_t n = 4;
    CHECK(corelane_create(kind, 16, sizeof(struct tick), &tx, &rx) == OK);
    CHECK(corelane_peek(rx, &place, &n) == CORELANE_STATUS_EMPTY && n == 0);
    uint64_t pushed = 0, popped = 0;
    while (pushed < 1000) {
        n = 3;
        CHECK(corelane_lend(tx, &place, &n) == OK && n >= 1 && n <= 3);
        for (size_t i = 0; i < n; i++)
            ((struct tick *)place)[i] = tick(pushed + i);
        CHECK(corelane_publish(tx, n) == OK);
        pushed += n;
        CHECK(corelane_publish(tx, 1) == CORELANE_STATUS_INVALID);
        while (popped < pushed) {
            n = 100;
            CHECK(corelane_peek(rx, &place, &n) == OK && n <= pushed - popped);
            for (size_t i = 0; i < n; i++)
                CHECK(((struct tick *)place)[i].product == tick(popped + i).product);
            CHECK(corelane_release(rx, n) == OK);
            popped += n;
        }
    }
    /* A loan that another call ends pushes nothing. */
    n = 2;
    struct tick item = tick(7);
    CHECK(corelane_lend(tx, &place, &n) == OK);
    CHECK(corelane_push(tx, &item, 0) == OK);
    CHECK(corelane_publish(tx, 1) == CORELANE_STATUS_INVALID);
    CHECK(corelane_pop(rx, &item, 0) == OK && item.number == 7);
    CHECK(corelane_pop(rx, &item, 0) == CORELANE_STATUS_EMPTY);
    CHECK(corelane_producer_clone(tx) == NULL && corelane_consumer_clone(rx) == NULL);
    corelane_producer_close(&tx);
    corelane_consumer_close(&rx);
}

static void *push_some(void *handle)
{
    corelane_producer *tx = handle;
    CHECK(corelane_producer_strategy(tx, CORELANE_STRATEGY_SLEEP) == OK);
    for (uint64_t number = 1; number <= SOME; number++) {
        const struct tick item = tick(number);
        CHECK(corelane_push(tx, &item, CORELANE_FOREVER) == OK);
    }
    corelane_producer_close(&tx);
    return NULL;
}

static void *pop_all(void *handle)
{
    corelane_consumer *rx = handle;
    struct tick some[7];
    uint64_t *sum = calloc(2, sizeof(*sum));
    for (size_t n; (n = corelane_pop_many(rx, some, 7, CORELANE_FOREVER)) > 0;)
        for (size_t i = 0; i < n; i++) {
            CHECK(some[i].product == tick(some[i].number).product);
            sum[0] += some[i].number;
            sum[1]++;
        }
    corelane_consumer_close(&rx);
    return sum;
}

static void threads(corelane_kind kind, int each)
{
    corelane_producer *tx[3];
    corelane_consumer *rx[3];
    pthread_t senders[3], takers[3];
    CHECK(corelane_create(kind, 16, sizeof(struct tick), &tx[0], &rx[0]) == OK);
    for (int i = 1; i < each; i++) {
        tx[i] = corelane_producer_clone(tx[0]);
        rx[i] = corelane_consumer_clone(rx[0]);
        CHECK(tx[i] != NULL && rx[i] != NULL);
    }
    for (int i = 0; i < each; i++) {
        CHECK(pthread_create(&takers[i], NULL, pop_all, rx[i]) == 0);
        CHECK(pthread_create(&senders[i], NULL, push_some, tx[i]) == 0);
    }
    uint64_t sum = 0, count = 0;
    for (int i = 0; i < each; i++) {
        void *part;
        pthread_join(senders[i], NULL);
        pthread_join(takers[i], &part);
        sum += ((uint64_t *)part)[0];
        count += ((uint64_t *)part)[1];
        free(part);
    }
    CHECK(count == (uint64_t)each * SOME && sum == count * (SOME + 1) / 2);
}

static void overwriting(void)
{
    corelane_producer *tx;
    corelane_consumer *rx;
    CHECK(corelane_create(CORELANE_KIND_OVERWRITING, 8, 4, &tx, &rx) == OK);
    for (uint32_t number = 0; number < 100; number++)
        CHECK(corelane_push(tx, &number, 0) == OK);
    uint32_t first, number;
    CHECK(corelane_pop(rx, &first, 0) == OK && first >= 80 && corelane_lost(rx) == first);
    while (corelane_pop(rx, &number, 0) == OK)
        CHECK(number == ++first);
    CHECK(first == 99);
    corelane_producer_close(&tx);
    corelane_consumer_close(&rx);
}

static void records(bool several)
{
    corelane_record_producer *tx;
    corelane_record_consumer *rx;
    CHECK(corelane_records_create(several, 4096, &tx, &rx) == OK);
    const size_t most = corelane_record_max_len(tx);
    void *room;
    const void *record;
    size_t len;
    CHECK(corelane_record_claim(tx, most + 1, &room, 0) == CORELANE_STATUS_TOO_LARGE);
    CHECK(corelane_record_peek(rx, &record, &len, 0) == CORELANE_STATUS_EMPTY);
    CHECK(corelane_record_peek(rx, &record, &len, MILLISECOND) == CORELANE_STATUS_EMPTY);
    CHECK(corelane_record_commit(tx, 1) == CORELANE_STATUS_INVALID);
    for (size_t i = 0; i < 1000; i++) {
        CHECK(corelane_record_push(tx, "hello", 5, CORELANE_FOREVER) == OK);
        CHECK(corelane_record_claim(tx, 100, &room, MILLISECOND) == OK);
        memset(room, (int)(i % 100), i % 100);
        CHECK(corelane_record_commit(tx, i % 100) == OK);
        CHECK(corelane_record_peek(rx, &record, &len, CORELANE_FOREVER) == OK);
        CHECK(len == 5 && memcmp(record, "hello", 5) == 0);
        CHECK(corelane_record_release(rx) == OK);
        CHECK(corelane_record_release(rx) == CORELANE_STATUS_INVALID);
        CHECK(corelane_record_peek(rx, &record, &len, 0) == OK && len == i % 100);
        CHECK(len == 0 || ((const char *)record)[len - 1] == (char)len);
        CHECK(corelane_record_release(rx) == OK);
    }
    /* A claim that is given up by another call. */
    CHECK(corelane_record_claim(tx, 50, &room, 0) == OK);
    CHECK(corelane_record_push(tx, "b", 1, 0) == OK);
    CHECK(corelane_record_peek(rx, &record, &len, 0) == OK && len == 1);
    corelane_record_producer *other = corelane_record_producer_clone(tx);
    CHECK((other != NULL) == several);
    CHECK(corelane_record_claim(tx, 50, &room, 0) == OK);
    corelane_record_producer_close(&other);
    corelane_record_producer_close(&tx);
    corelane_record_producer_close(&tx);
    CHECK(corelane_record_consumer_is_closed(rx));
    CHECK(corelane_record_peek(rx, &record, &len, CORELANE_FOREVER) == CORELANE_STATUS_CLOSED);
    corelane_record_consumer_close(&rx);
}

static void stealing(corelane_order order)
{
    corelane_worker *worker;
    CHECK(corelane_worker_create(order, 64, sizeof(int), &worker) == OK);
    corelane_stealer *thief = corelane_worker_stealer(worker);
    corelane_stealer *other = corelane_stealer_clone(thief);
    int item, pushed = 0, stolen[64];
    size_t n = 64;
    while (pushed < 64 && corelane_worker_push(worker, &pushed) == OK)
        pushed++;
    CHECK(pushed == 64);
    CHECK(corelane_worker_pop(worker, &item) == OK);
    CHECK(item == (order == CORELANE_ORDER_LIFO ? 63 : 0));
    CHECK(corelane_steal(thief, stolen, &n) == OK && n >= 1);
    int count = 1 + (int)n;
    while (corelane_worker_pop(worker, &item) == OK)
        count++;
    corelane_worker_close(&worker);
    corelane_worker_close(&worker);
    for (corelane_status status; (status = (n = 64, corelane_steal(other, stolen, &n))) == OK;)
        count += (int)n;
    CHECK(count == pushed);
    CHECK(corelane_steal(other, stolen, &n) == CORELANE_STATUS_INVALID);
    n = 1;
    CHECK(corelane_steal(other, stolen, &n) == CORELANE_STATUS_CLOSED && n == 0);
    corelane_stealer_close(&thief);
    corelane_stealer_close(&other);
}

static const corelane_carried ticks = {
    .kind = CORELANE_LANE_KIND_ONE_TO_ONE, .name = "Tick", .item_size = 16, .item_align = 8};

/* A child that pushes into a lane, by a descriptor or a socket, and is killed or not. */
static pid_t child(corelane_lane *given, const char *path, bool is_killed)
{
    const int descriptor = given ? corelane_lane_descriptor(given) : -1;
    const pid_t process = fork();
    if (process == 0) {
        corelane_lane *lane;
        corelane_producer *tx;
        if (path != NULL)
            CHECK(corelane_lane_connect(&ticks, path, &lane) == OK);
        else
            CHECK(corelane_lane_open(&ticks, descriptor, &lane) == OK);
        CHECK(corelane_lane_producer(lane, &tx) == OK);
        corelane_lane_close(&lane);
        for (uint64_t number = 0; number < SOME; number++) {
            const struct tick item = tick(number);
            CHECK(corelane_push(tx, &item, CORELANE_FOREVER) == OK);
        }
        if (is_killed)
            _exit(9);
        corelane_producer_close(&tx);
        _exit(0);
    }
    CHECK(process > 0);
    if (descriptor >= 0)
        close(descriptor);
    return process;
}

static void take_some(corelane_consumer *rx)
{
    struct tick item;
    for (uint64_t number = 0; number < SOME; number++) {
        CHECK(corelane_pop(rx, &item, CORELANE_FOREVER) == OK);
        CHECK(item.number == number && item.product == tick(number).product);
    }
}

static void lanes(const char *socket)
{
    corelane_lane *lane, *other = NULL;
    corelane_consumer *rx, *second;
    corelane_record_producer *records;
    struct tick item;
    int status;
    CHECK(corelane_lane_create(&ticks, 100, &lane) == OK);
    CHECK(corelane_lane_consumer(lane, &rx) == OK);
    CHECK(corelane_lane_consumer(lane, &second) == CORELANE_STATUS_TAKEN);
    CHECK(corelane_lane_record_producer(lane, &records) == CORELANE_STATUS_INVALID);
    CHECK(corelane_consumer_peer(rx) == CORELANE_PEER_ABSENT);
    CHECK(!corelane_consumer_wait_for_peer(rx, MILLISECOND));

    /* The children have copies of this process's mappings, but not its sides. */
    pid_t process = child(lane, NULL, false);
    take_some(rx);
    CHECK(corelane_pop(rx, &item, CORELANE_FOREVER) == CORELANE_STATUS_CLOSED);
    CHECK(corelane_consumer_peer(rx) == CORELANE_PEER_LEFT);
    CHECK(corelane_consumer_position(rx) == SOME);
    CHECK(waitpid(process, &status, 0) == process && status == 0);

    process = child(lane, NULL, true);
    CHECK(corelane_consumer_wait_for_peer(rx, CORELANE_FOREVER));
    take_some(rx);
    CHECK(corelane_pop(rx, &item, CORELANE_FOREVER) == CORELANE_STATUS_CLOSED);
    CHECK(corelane_consumer_peer(rx) == CORELANE_PEER_DIED);
    CHECK(waitpid(process, &status, 0) == process && WEXITSTATUS(status) == 9);

    corelane_listener *listener;
    CHECK(corelane_listener_create(socket, &listener) == OK);
    process = child(NULL, socket, false);
    CHECK(corelane_listener_hand_out(listener, lane) == OK);
    CHECK(corelane_consumer_wait_for_peer(rx, CORELANE_FOREVER));
    take_some(rx);
    CHECK(waitpid(process, &status, 0) == process && status == 0);
    corelane_listener_close(&listener);

    /* What is described in another way is refused, by the field that differs. */
    const int descriptor = corelane_lane_descriptor(lane);
    corelane_carried what = ticks;
    what.name = "Quote";
    CHECK(corelane_lane_open(&what, descriptor, &other) == CORELANE_STATUS_DIFFERS);
    CHECK(strstr(corelane_last_error(), "name") != NULL);
    what = ticks;
    what.item_size = 24;
    CHECK(corelane_lane_open(&what, descriptor, &other) == CORELANE_STATUS_DIFFERS);
    CHECK(strstr(corelane_last_error(), "size") != NULL);
    what.item_size = 17;
    CHECK(corelane_lane_open(&what, descriptor, &other) == CORELANE_STATUS_INVALID);
    what.kind = CORELANE_LANE_KIND_RECORDS;
    CHECK(corelane_lane_open(&what, descriptor, &other) == CORELANE_STATUS_DIFFERS);
    CHECK(corelane_lane_open(&ticks, 0, &other) == CORELANE_STATUS_NOT_A_LANE);
    CHECK(corelane_lane_open(&ticks, -1, &other) == CORELANE_STATUS_NOT_A_LANE);
    CHECK(other == NULL);
    close(descriptor);
    corelane_lane_close(&lane);
    corelane_consumer_close(&rx);
}

static void other_lanes(void)
{
    corelane_lane *lane;
    corelane_producer *tx[2];
    corelane_consumer *rx[2];
    struct tick item = tick(1);
    corelane_carried what = ticks;
    what.kind = CORELANE_LANE_KIND_SEVERAL;
    what.most = 2;
    CHECK(corelane_lane_create(&what, 100, &lane) == OK);
    for (int i = 0; i < 2; i++) {
        CHECK(corelane_lane_producer(lane, &tx[i]) == OK);
        CHECK(corelane_lane_consumer(lane, &rx[i]) == OK);
        CHECK(corelane_push(tx[i], &item, 0) == OK);
    }
    corelane_producer *third;
    CHECK(corelane_lane_producer(lane, &third) == CORELANE_STATUS_TAKEN);
    for (int i = 0; i < 2; i++)
        CHECK(corelane_pop(rx[i], &item, CORELANE_FOREVER) == OK && item.number == 1);
    for (int i = 0; i < 2; i++) {
        corelane_producer_close(&tx[i]);
        corelane_consumer_close(&rx[i]);
    }
    corelane_lane_close(&lane);

    what.kind = CORELANE_LANE_KIND_BROADCAST;
    CHECK(corelane_lane_create(&what, 100, &lane) == OK);
    CHECK(corelane_lane_producer(lane, &tx[0]) == OK);
    for (int i = 0; i < 2; i++)
        CHECK(corelane_lane_consumer(lane, &rx[i]) == OK);
    for (int i = 0; i < 1000; i++)
        CHECK(corelane_push(tx[0], &item, 0) == OK);
    for (int i = 0; i < 2; i++) {
        CHECK(corelane_pop(rx[i], &item, 0) == OK && corelane_lost(rx[i]) > 0);
        corelane_consumer_close(&rx[i]);
    }
    corelane_producer_close(&tx[0]);
    corelane_lane_close(&lane);

    const corelane_carried bytes = {.kind = CORELANE_LANE_KIND_RECORDS, .most = 1000};
    corelane_record_producer *records;
    corelane_record_consumer *reader;
    const void *record;
    size_t len;
    CHECK(corelane_lane_create(&bytes, 8000, &lane) == OK);
    CHECK(corelane_lane_record_producer(lane, &records) == OK);
    CHECK(corelane_lane_record_consumer(lane, &reader) == OK);
    CHECK(corelane_record_max_len(records) >= 1000);
    CHECK(corelane_record_push(records, "hello", 6, 0) == OK);
    CHECK(corelane_record_peek(reader, &record, &len, 0) == OK && len == 6);
    CHECK(corelane_record_consumer_peer(reader) == CORELANE_PEER_ALIVE);
    corelane_lane_close(&lane);
    corelane_record_producer_close(&records);
    corelane_record_consumer_close(&reader);
}

int main(int argc, char **argv)
{
    const size_t sizes[] = {1, 2, 3, 4, 7, 8, 9, 13, 16, 24, 33, 48, 64, 65, 100, 128, 200, 512, 600, 1024};
    const corelane_kind kinds[] = {CORELANE_KIND_ONE_TO_ONE, CORELANE_KIND_IN_PLACE,
                                   CORELANE_KIND_SEVERAL, CORELANE_KIND_BLOCKS,
                                   CORELANE_KIND_OVERWRITING};
    if (argc != 2)
        return 2;
    arguments();
    for (size_t kind = 0; kind < 5; kind++)
        for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++)
            items(kinds[kind], sizes[size]);
    for (int kind = 0; kind < 4; kind++)
        full_and_closed(kinds[kind]);
    loans(CORELANE_KIND_ONE_TO_ONE);
    loans(CORELANE_KIND_IN_PLACE);
    for (int kind = 0; kind < 4; kind++)
        threads(kinds[kind], kind < 2 ? 1 : 3);
    overwriting();
    records(false);
    records(true);
    stealing(CORELANE_ORDER_LIFO);
    stealing(CORELANE_ORDER_FIFO);
    lanes(argv[1]);
    other_lanes();
    printf("all calls are as documented\n");
    return 0;
}
