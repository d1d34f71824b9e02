#include "ring.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_lcore.h>

const char *const KIND_NAMES[KINDS] = {
    [RTE_SINGLE] = "rte_ring, SP/SC",
    [BBQ_SINGLE] = "bbq, one handle a side",
    [RTE_SEVERAL] = "rte_ring, MP/MC",
    [BBQ_SEVERAL] = "bbq, clones",
};

/* A power of two, as DPDK's own programs ask for: one slot stays empty. */
static struct rte_ring *rte_make(enum kind kind, unsigned capacity)
{
    static unsigned made;
    char name[RTE_RING_NAMESIZE];
    const unsigned flags = is_single(kind) ? RING_F_SP_ENQ | RING_F_SC_DEQ : 0;
    snprintf(name, sizeof(name), "ring%u", made++);
    struct rte_ring *ring =
        rte_ring_create(name, rte_align32pow2(capacity), (int)rte_socket_id(), flags);
    if (ring == NULL)
        rte_exit(EXIT_FAILURE, "no ring of %u packets: %s\n", capacity, rte_strerror(rte_errno));
    return ring;
}

struct ring ring_make(enum kind kind, unsigned capacity)
{
    struct ring ring = {0};
    if (!is_bbq(kind)) {
        ring.rte = rte_make(kind, capacity);
        return ring;
    }
    const corelane_status made = corelane_create(CORELANE_KIND_BLOCKS, capacity, sizeof(void *),
                                                 &ring.producer, &ring.consumer);
    if (made != CORELANE_STATUS_OK)
        rte_exit(EXIT_FAILURE, "no bbq of %u packets\n", capacity);
    if (!is_single(kind)) {
        ring.other_producer = corelane_producer_clone(ring.producer);
        ring.other_consumer = corelane_consumer_clone(ring.consumer);
    }
    return ring;
}
