/* The queue between two lcores: DPDK's rte_ring, or corelane's bbq, behind the same calls. */

#ifndef RING_H
#define RING_H

#include <stdbool.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "corelane.h"

/* Which queue, in the order in which they are measured. Each bbq follows the ring that it is
 * compared with. */
enum kind {
    RTE_SINGLE,  /* rte_ring for one producer and one consumer (SP/SC) */
    BBQ_SINGLE,  /* bbq with one handle of each side */
    RTE_SEVERAL, /* rte_ring for several producers and consumers (MP/MC) */
    BBQ_SEVERAL, /* bbq with several handles of each side */
    KINDS
};

extern const char *const KIND_NAMES[KINDS];

static inline bool is_bbq(enum kind kind) { return kind == BBQ_SINGLE || kind == BBQ_SEVERAL; }

static inline bool is_single(enum kind kind) { return kind == RTE_SINGLE || kind == BBQ_SINGLE; }

/* Not written after it is made. It lives as long as the program. */
struct ring {
    struct rte_ring *rte; /* NULL: the queue is a bbq. */
    corelane_producer *producer;
    corelane_consumer *consumer;
    /* Clones that no lcore uses: with them the handles above work as several of a side. */
    corelane_producer *other_producer;
    corelane_consumer *other_consumer;
};

/* Ends the program if there is no memory. */
struct ring ring_make(enum kind kind, unsigned capacity);

/* Appends as many of the `n` packets as fit, and returns their number. */
static inline unsigned ring_push(const struct ring *ring, struct rte_mbuf **packets, unsigned n)
{
    if (ring->rte != NULL)
        return rte_ring_enqueue_burst(ring->rte, (void *const *)packets, n, NULL);
    return corelane_push_many(ring->producer, packets, n, 0);
}

/* Removes up to `n` packets, and returns their number. */
static inline unsigned ring_pop(const struct ring *ring, struct rte_mbuf **packets, unsigned n)
{
    if (ring->rte != NULL)
        return rte_ring_dequeue_burst(ring->rte, (void **)packets, n, NULL);
    return corelane_pop_many(ring->consumer, packets, n, 0);
}

#endif
