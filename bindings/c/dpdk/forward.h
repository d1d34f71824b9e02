/* Level-2 forwarding as in DPDK's client-server example: a server receives packets and hands them
 * out to its clients, each by a ring. A client sends each packet to the other port. */

#ifndef FORWARD_H
#define FORWARD_H

#include <rte_lcore.h>
#include <rte_mempool.h>

#include "ports.h"

enum { MOST_BURST = 64 };

/* Where the measured rings are. */
enum place {
    IN_CLIENTS, /* between the server and its clients; packets come from devices net_null */
    IN_PORTS,   /* under the ports, which a tester fills and empties */
    PLACES
};

/* Packets that wait for room in a ring. */
struct batch {
    unsigned n;
    struct rte_mbuf *packets[MOST_BURST];
};

/* The packets of one sender on their way to one receiver are numbered. */
struct numbers {
    uint64_t packets;
    uint64_t out_of_order; /* These were doubled or overtaken. */
    uint32_t last;
};

struct server {
    struct batch batches[MOST_CLIENTS];
    unsigned next; /* The client that gets the next packet. */
    uint64_t received;
    uint32_t numbers[MOST_CLIENTS];
} __rte_cache_aligned;

struct client {
    struct batch batches[PORTS];
    struct numbers seen;
} __rte_cache_aligned;

struct tester {
    struct batch batches[PORTS];
    uint64_t made;
    uint32_t numbers[PORTS];
    struct numbers seen[PORTS][MOST_CLIENTS];
} __rte_cache_aligned;

/* What forwards with one kind of ring in one place. */
struct forwarding {
    enum place place;
    unsigned clients;
    unsigned burst;
    struct rte_mempool *pool;
    uint16_t ports[PORTS];
    struct ring to_client[MOST_CLIENTS];
    struct ring_port ring_ports[PORTS]; /* IN_PORTS */
};

/* What came of a round. */
struct outcome {
    double seconds;
    uint64_t in;
    uint64_t out;
    uint64_t out_of_order;
    unsigned missing; /* packets that are not back in the pool */
};

/* Forwards for some time, and until every packet has arrived. The first lcore runs the server, or
 * the tester if there is one. The roles behind it are dealt to the other lcores in turn. */
struct outcome forward(const struct forwarding *forwarding, double seconds);

#endif
