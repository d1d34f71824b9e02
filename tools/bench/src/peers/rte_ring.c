/* The calls of DPDK's ring for peers/dpdk.rs. They are inline functions, so they need C. */

#include <stdbool.h>
#include <stdlib.h>

#include <rte_ring.h>

/* How the threads of a side share a ring, in the order of `Mode`. */
static const unsigned FLAGS[] = {
    0,
    RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ,
    RING_F_MP_HTS_ENQ | RING_F_MC_HTS_DEQ,
    RING_F_SP_ENQ | RING_F_SC_DEQ,
};

/* A ring for `capacity` items in memory of its own, which needs no huge pages and no EAL. NULL if
 * the capacity is too large, or if there is no memory. */
struct rte_ring *corelane_rte_ring_make(unsigned capacity, unsigned mode)
{
    if (capacity > RTE_RING_SZ_MASK / 2)
        return NULL;
    const ssize_t bytes = rte_ring_get_memsize(rte_align32pow2(capacity + 1));
    void *ring;
    if (bytes < 0 || posix_memalign(&ring, 2 * RTE_CACHE_LINE_SIZE, (size_t)bytes) != 0)
        return NULL;
    if (rte_ring_init(ring, "lane", capacity, FLAGS[mode] | RING_F_EXACT_SZ) != 0) {
        free(ring);
        return NULL;
    }
    return ring;
}

void corelane_rte_ring_free(struct rte_ring *ring) { free(ring); }

/* Returns whether there was room. */
bool corelane_rte_ring_push(struct rte_ring *ring, void *item)
{
    return rte_ring_enqueue(ring, item) == 0;
}

unsigned corelane_rte_ring_push_slice(struct rte_ring *ring, void *const *items, unsigned n)
{
    return rte_ring_enqueue_burst(ring, items, n, NULL);
}

/* Returns whether there was an item. */
bool corelane_rte_ring_pop(struct rte_ring *ring, void **item)
{
    return rte_ring_dequeue(ring, item) == 0;
}

unsigned corelane_rte_ring_pop_slice(struct rte_ring *ring, void **into, unsigned n)
{
    return rte_ring_dequeue_burst(ring, into, n, NULL);
}
