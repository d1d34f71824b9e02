/* corelane: concurrent queues.
 *
 * A queue passes pointers from its producers to its consumers, first in, first out. It never reads
 * what they point to. No call waits.
 *
 * Handles. A thread uses a queue through a handle: a producer, or a consumer. A handle belongs to
 * one thread at a time. It may be given to another thread in any way that makes this thread's
 * writes visible to the other one, such as a mutex or pthread_create. A side has as many handles
 * as threads: clone makes one more. Each handle is destroyed once, and not used after that. The
 * last handle frees the queue.
 *
 * Closing. When all producers are destroyed, consumers take what is left, and are then told that
 * the queue is closed. When all consumers are destroyed, producers are told so where they find no
 * room. Items that no consumer has taken are not freed: the queue doesn't own what they point to.
 *
 * NULL instead of a handle or a place is answered as each call says, and does no harm.
 *
 * Failures that end the process: a handle too many (65,536 of a side), and no memory for a handle,
 * which takes less than a kilobyte. No exception or longjmp leaves a call. */

#ifndef CORELANE_H
#define CORELANE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The answer of a call. */
typedef enum corelane_status {
    CORELANE_OK = 0,        /* The call has done its work. */
    CORELANE_FULL = 1,      /* No slot is free. */
    CORELANE_EMPTY = 2,     /* No item is there. */
    CORELANE_BUSY = 3,      /* An unfinished call of another thread is in the way: try again soon. */
    CORELANE_CLOSED = 4,    /* As FULL or EMPTY, and the other side is destroyed: it stays so. */
    CORELANE_INVALID = 5,   /* An argument is NULL, or the capacity is 0 or too large. */
    CORELANE_NO_MEMORY = 6, /* There is not enough memory for the queue. */
} corelane_status;

/* bbq: the block-based bounded queue, between any number of threads on either side.
 *
 * Its slots are divided into blocks. While producers and consumers are in different blocks, neither
 * side disturbs the other. The only handle of a side needs no atomic read-modify-write; among
 * clones a push or a pop, of one item or of the items of a slice in one block, needs two. */
typedef struct corelane_bbq_producer corelane_bbq_producer;
typedef struct corelane_bbq_consumer corelane_bbq_consumer;

/* Makes a queue that always has room for `capacity` items, and one handle of each side.
 *
 * OK; INVALID; NO_MEMORY. Without OK the handles are not written. */
corelane_status corelane_bbq_create(size_t capacity, corelane_bbq_producer **producer,
                                    corelane_bbq_consumer **consumer);

/* Appends `item`.
 *
 * OK; FULL; BUSY; CLOSED; INVALID if `item` is NULL, too. A pop on another core becomes visible a
 * moment after it has returned, so a push may find the queue full just after a pop. */
corelane_status corelane_bbq_push(corelane_bbq_producer *producer, void *item);

/* Appends as many of the first `n` items as fit, and returns their number. Items of other producers
 * may come between them.
 *
 * Less than `n`: the queue is full, closed, or has been busy for about a microsecond; push says
 * which. 0 if an argument is NULL. The items themselves are not looked at: don't pass NULL. */
size_t corelane_bbq_push_slice(corelane_bbq_producer *producer, void *const *items, size_t n);

/* The number of items that the queue always has room for: as asked, or a little more. 0 of NULL. */
size_t corelane_bbq_producer_capacity(const corelane_bbq_producer *producer);

/* Whether all consumers are destroyed. What they did before is visible then. True of NULL. */
bool corelane_bbq_producer_is_closed(const corelane_bbq_producer *producer);

/* One more producer of the same queue. NULL of NULL. */
corelane_bbq_producer *corelane_bbq_producer_clone(corelane_bbq_producer *producer);

/* Destroys a handle. NULL is left alone. */
void corelane_bbq_producer_destroy(corelane_bbq_producer *producer);

/* Removes the oldest item, and writes it to `*item`.
 *
 * OK; EMPTY; BUSY; CLOSED; INVALID. Without OK, `*item` is not written. */
corelane_status corelane_bbq_pop(corelane_bbq_consumer *consumer, void **item);

/* Removes up to `n` of the oldest items, writes them to `into`, and returns their number.
 *
 * Less than `n`: the queue is empty, closed, or has been busy for about a microsecond; pop says
 * which. 0 if an argument is NULL. */
size_t corelane_bbq_pop_slice(corelane_bbq_consumer *consumer, void **into, size_t n);

/* As corelane_bbq_producer_capacity. */
size_t corelane_bbq_consumer_capacity(const corelane_bbq_consumer *consumer);

/* Whether all producers are destroyed. Items may still be inside. True of NULL. */
bool corelane_bbq_consumer_is_closed(const corelane_bbq_consumer *consumer);

/* One more consumer of the same queue. NULL of NULL. */
corelane_bbq_consumer *corelane_bbq_consumer_clone(corelane_bbq_consumer *consumer);

/* Destroys a handle. NULL is left alone. */
void corelane_bbq_consumer_destroy(corelane_bbq_consumer *consumer);

#ifdef __cplusplus
}
#endif

#endif
