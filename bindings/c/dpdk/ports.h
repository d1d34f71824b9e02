/* The ports: devices without hardware. */

#ifndef PORTS_H
#define PORTS_H

#include <stdint.h>

#include <rte_mempool.h>

#include "ring.h"

enum { PORTS = 2, MOST_CLIENTS = 8 };

/* A port that DPDK's driver net_ring makes of rings. Its other ends are a tester's. */
struct ring_port {
    struct ring in;                /* The tester pushes, the port receives. */
    struct ring out[MOST_CLIENTS]; /* Each client sends with a queue of its own. */
};

/* The devices net_null of the command line: packets come from the pool as fast as they are
 * received, and go back to it as they are sent. Ends the program if there are other devices. */
void null_ports(uint16_t ports[PORTS], unsigned clients, struct rte_mempool *pool);

/* Makes a port of rings of a kind. `made` stays in place: the port points to its rings. */
uint16_t ring_port(struct ring_port *made, enum kind kind, unsigned clients, unsigned capacity,
                   struct rte_mempool *pool);

#endif
