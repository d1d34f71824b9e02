/* The peer in C. */

#include <corelane.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t SECOND = 1000000000;

struct tick {
    uint64_t number, product;
};

static struct tick tick(uint64_t number)
{
    return (struct tick){number, number * 0x9E3779B97F4A7C15};
}

static size_t words(uint64_t number) { return 1 + number % 16; }

static void fail(const char *why)
{
    fprintf(stderr, "peer in C: %s\n", why);
    exit(1);
}

static void fail_at(const char *what, uint64_t next)
{
    fprintf(stderr, "peer in C: another %s instead of %" PRIu64 "\n", what, next);
    exit(1);
}

/* Takes a side, which the system may still give back after a kill. */
#define TAKE(call, lane, side)                                                     \
    do {                                                                           \
        corelane_status status = CORELANE_STATUS_TAKEN;                            \
        for (int i = 0; i < 5000 && status == CORELANE_STATUS_TAKEN; i++) {        \
            if (i > 0)                                                             \
                nanosleep(&(struct timespec){0, 1000000}, NULL);                   \
            status = call(lane, side);                                             \
        }                                                                          \
        if (status != CORELANE_STATUS_OK)                                          \
            fail(corelane_last_error());                                           \
    } while (0)

static void push(corelane_lane *lane, uint64_t items)
{
    corelane_producer *tx;
    TAKE(corelane_lane_producer, lane, &tx);
    for (uint64_t next; (next = corelane_producer_position(tx)) < items;) {
        const struct tick item = tick(next);
        if (corelane_push(tx, &item, CORELANE_FOREVER) != CORELANE_STATUS_OK &&
            !corelane_producer_wait_for_peer(tx, 20 * SECOND))
            fail("no peer has come");
    }
    corelane_producer_close(&tx);
}

static void pop(corelane_lane *lane, uint64_t items)
{
    corelane_consumer *rx;
    TAKE(corelane_lane_consumer, lane, &rx);
    for (uint64_t next; (next = corelane_consumer_position(rx)) < items;) {
        struct tick item;
        if (corelane_pop(rx, &item, CORELANE_FOREVER) != CORELANE_STATUS_OK) {
            if (!corelane_consumer_wait_for_peer(rx, 20 * SECOND))
                fail("no peer has come");
        } else if (item.number != next || item.product != tick(next).product) {
            fail_at("item", next);
        }
    }
    corelane_consumer_close(&rx);
}

static void push_records(corelane_lane *lane, uint64_t items)
{
    corelane_record_producer *tx;
    TAKE(corelane_lane_record_producer, lane, &tx);
    for (uint64_t next; (next = corelane_record_producer_position(tx)) < items;) {
        void *room;
        const size_t len = 8 * words(next);
        if (corelane_record_claim(tx, len, &room, CORELANE_FOREVER) == CORELANE_STATUS_OK) {
            for (size_t i = 0; i < words(next); i++)
                memcpy((char *)room + 8 * i, &next, 8);
            corelane_record_commit(tx, len);
        } else if (!corelane_record_producer_wait_for_peer(tx, 20 * SECOND)) {
            fail("no peer has come");
        }
    }
    corelane_record_producer_close(&tx);
}

static void pop_records(corelane_lane *lane, uint64_t items)
{
    corelane_record_consumer *rx;
    TAKE(corelane_lane_record_consumer, lane, &rx);
    for (uint64_t next; (next = corelane_record_consumer_position(rx)) < items;) {
        const void *record;
        size_t len;
        if (corelane_record_peek(rx, &record, &len, CORELANE_FOREVER) != CORELANE_STATUS_OK) {
            if (!corelane_record_consumer_wait_for_peer(rx, 20 * SECOND))
                fail("no peer has come");
            continue;
        }
        if (len != 8 * words(next))
            fail_at("length of a record", next);
        for (size_t i = 0; i < words(next); i++)
            if (memcmp((const char *)record + 8 * i, &next, 8) != 0)
                fail_at("record", next);
        corelane_record_release(rx);
    }
    corelane_record_consumer_close(&rx);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        fail("use: peer push|pop items|records DESCRIPTOR ITEMS");
    const bool is_records = strcmp(argv[2], "records") == 0, is_push = strcmp(argv[1], "push") == 0;
    const corelane_carried what = {
        .kind = is_records ? CORELANE_LANE_KIND_RECORDS : CORELANE_LANE_KIND_ONE_TO_ONE,
        .name = "Tick",
        .item_size = sizeof(struct tick),
        .item_align = 8,
    };
    const uint64_t items = strtoull(argv[4], NULL, 10);
    corelane_lane *lane;
    if (corelane_lane_open(&what, atoi(argv[3]), &lane) != CORELANE_STATUS_OK)
        fail(corelane_last_error());
    if (is_records)
        (is_push ? push_records : pop_records)(lane, items);
    else
        (is_push ? push : pop)(lane, items);
    corelane_lane_close(&lane);
    return 0;
}
