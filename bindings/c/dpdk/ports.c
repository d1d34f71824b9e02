#include "ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

/* Starts a port with one queue to receive, and one for each client to send. */
static void start(uint16_t port, unsigned clients, struct rte_mempool *pool)
{
    const struct rte_eth_conf conf = {0};
    const int socket = (int)rte_socket_id();
    int failed = rte_eth_dev_configure(port, 1, (uint16_t)clients, &conf);
    failed = failed ?: rte_eth_rx_queue_setup(port, 0, 512, (unsigned)socket, NULL, pool);
    for (uint16_t queue = 0; queue < clients; queue++)
        failed = failed ?: rte_eth_tx_queue_setup(port, queue, 512, (unsigned)socket, NULL);
    failed = failed ?: rte_eth_dev_start(port);
    if (failed)
        rte_exit(EXIT_FAILURE, "port %u doesn't start: %s\n", port, strerror(-failed));
}

void null_ports(uint16_t ports[PORTS], unsigned clients, struct rte_mempool *pool)
{
    unsigned found = 0;
    uint16_t port;
    RTE_ETH_FOREACH_DEV(port)
    {
        struct rte_eth_dev_info info;
        const bool is_null =
            rte_eth_dev_info_get(port, &info) == 0 && strcmp(info.driver_name, "net_null") == 0;
        if (!is_null || found == PORTS)
            rte_exit(EXIT_FAILURE, "port %u is not one of two devices net_null\n", port);
        ports[found++] = port;
    }
    if (found < PORTS)
        rte_exit(EXIT_FAILURE, "two ports are needed: --vdev net_null0 --vdev net_null1\n");
    for (unsigned i = 0; i < PORTS; i++)
        start(ports[i], clients, pool);
}

/* A queue of the driver net_ring whose ring is a bbq. It counts packets as the driver does. */
struct bbq_queue {
    const struct ring *ring;
    uint64_t packets;
} __rte_cache_aligned;

static void count(struct bbq_queue *queue, unsigned n)
{
    if (queue->ring->other_producer == NULL)
        queue->packets += n;
    else
        __atomic_fetch_add(&queue->packets, n, __ATOMIC_RELAXED);
}

static uint16_t bbq_receive(void *queue, struct rte_mbuf **packets, uint16_t n)
{
    const unsigned done = ring_pop(((struct bbq_queue *)queue)->ring, packets, n);
    count(queue, done);
    return (uint16_t)done;
}

static uint16_t bbq_send(void *queue, struct rte_mbuf **packets, uint16_t n)
{
    const unsigned done = ring_push(((struct bbq_queue *)queue)->ring, packets, n);
    count(queue, done);
    return (uint16_t)done;
}

/* Puts the port's rings in the place of those that its driver has. */
static void replace(uint16_t port, const struct ring_port *by, unsigned clients)
{
    struct bbq_queue *queues =
        rte_zmalloc(NULL, (1 + clients) * sizeof(*queues), RTE_CACHE_LINE_SIZE);
    if (queues == NULL)
        rte_exit(EXIT_FAILURE, "no memory for the queues of port %u\n", port);
    struct rte_eth_fp_ops *calls = &rte_eth_fp_ops[port];
    queues[0].ring = &by->in;
    calls->rx_pkt_burst = bbq_receive;
    calls->rxq.data[0] = &queues[0];
    calls->tx_pkt_burst = bbq_send;
    for (unsigned i = 0; i < clients; i++) {
        queues[1 + i].ring = &by->out[i];
        calls->txq.data[i] = &queues[1 + i];
    }
}

uint16_t ring_port(struct ring_port *made, enum kind kind, unsigned clients, unsigned capacity,
                   struct rte_mempool *pool)
{
    static unsigned ports;
    /* The driver takes rings of DPDK only. With bbq they are small, and never used. */
    struct rte_ring *in, *out[MOST_CLIENTS];
    made->in = ring_make(kind, capacity);
    in = made->in.rte ?: ring_make(RTE_SINGLE, 2).rte;
    for (unsigned i = 0; i < clients; i++) {
        made->out[i] = ring_make(kind, capacity);
        out[i] = made->out[i].rte ?: ring_make(RTE_SINGLE, 2).rte;
    }
    char name[32];
    snprintf(name, sizeof(name), "rings%u", ports++);
    const int port = rte_eth_from_rings(name, &in, 1, out, clients, rte_socket_id());
    if (port < 0)
        rte_exit(EXIT_FAILURE, "no port of rings\n");
    start((uint16_t)port, clients, pool);
    if (is_bbq(kind))
        replace((uint16_t)port, made, clients);
    return (uint16_t)port;
}
