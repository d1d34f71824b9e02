#include "forward.h"

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_launch.h>

/* How many roles of each sort have ended: a line that is written at the end only. */
struct ended {
    unsigned sources, servers, clients, sinks;
} __rte_cache_aligned;

/* A round under way. */
struct round {
    const struct forwarding *with;
    uint64_t until;
    struct server server;
    struct client clients[MOST_CLIENTS];
    struct tester tester;
    struct ended ended;
} __rte_cache_aligned;

/* One turn of a role. Returns whether the role goes on. */
typedef bool turn(struct round *, unsigned number);

struct role {
    turn *turn;
    unsigned number;
    unsigned *ended;
};

/* The roles of an lcore, and when it was at work. */
struct crew {
    struct round *round;
    struct role roles[MOST_CLIENTS + 2];
    unsigned n;
    uint64_t from, to;
} __rte_cache_aligned;

/* Pairs with the release in `work`: what a role pushed before it ended is visible. */
static unsigned count(const unsigned *ended) { return __atomic_load_n(ended, __ATOMIC_ACQUIRE); }

static void keep_rest(struct batch *batch, unsigned done)
{
    batch->n -= done;
    memmove(batch->packets, batch->packets + done, batch->n * sizeof(batch->packets[0]));
}

static void note(struct numbers *seen, const struct rte_mbuf *packet)
{
    const uint32_t number = packet->hash.usr;
    seen->out_of_order += (int32_t)(number - seen->last) <= 0;
    seen->last = number;
    seen->packets++;
}

/* The server. */

/* Returns whether no packet waits for room any more. */
static bool hand_out(struct round *round)
{
    bool all = true;
    for (unsigned i = 0; i < round->with->clients; i++) {
        struct batch *batch = &round->server.batches[i];
        if (batch->n > 0)
            keep_rest(batch, ring_push(&round->with->to_client[i], batch->packets, batch->n));
        all = all && batch->n == 0;
    }
    return all;
}

static unsigned receive(struct round *round, unsigned port)
{
    const struct forwarding *with = round->with;
    struct server *server = &round->server;
    struct rte_mbuf *packets[MOST_BURST];
    const unsigned n =
        rte_eth_rx_burst(with->ports[port], 0, packets, (uint16_t)with->burst);
    for (unsigned i = 0; i < n; i++) {
        const unsigned client = server->next;
        server->next = client + 1 == with->clients ? 0 : client + 1;
        packets[i]->port = (uint16_t)port;
        if (with->place == IN_CLIENTS)
            packets[i]->hash.usr = ++server->numbers[client];
        struct batch *batch = &server->batches[client];
        batch->packets[batch->n++] = packets[i];
    }
    server->received += n;
    return n;
}

/* The example drops packets that find no room. Here they wait, so that each packet is counted. */
static bool serve(struct round *round, unsigned number)
{
    (void)number;
    const bool is_source = round->with->place == IN_CLIENTS;
    const bool last = is_source ? rte_rdtsc() >= round->until && round->server.received > 0
                                : count(&round->ended.sources) > 0;
    unsigned received = 0;
    for (unsigned port = 0; port < PORTS; port++) {
        if (!hand_out(round))
            return true;
        if (!(is_source && last))
            received += receive(round, port);
    }
    return !(hand_out(round) && last && received == 0);
}

/* A client. */

static void change_addresses(struct rte_mbuf *packet, uint16_t port)
{
    struct rte_ether_hdr *header = rte_pktmbuf_mtod(packet, struct rte_ether_hdr *);
    header->dst_addr = (struct rte_ether_addr){{0x02, 0, 0, 0, 0, (uint8_t)port}};
    header->src_addr = (struct rte_ether_addr){{0x02, 0, 0, 0, 1, (uint8_t)port}};
}

static bool send_out(struct round *round, unsigned client)
{
    bool all = true;
    for (unsigned port = 0; port < PORTS; port++) {
        struct batch *batch = &round->clients[client].batches[port];
        if (batch->n > 0)
            keep_rest(batch, rte_eth_tx_burst(round->with->ports[port], (uint16_t)client,
                                              batch->packets, (uint16_t)batch->n));
        all = all && batch->n == 0;
    }
    return all;
}

static bool be_client(struct round *round, unsigned number)
{
    const struct forwarding *with = round->with;
    struct client *client = &round->clients[number];
    if (!send_out(round, number))
        return true;
    const bool last = count(&round->ended.servers) > 0;
    struct rte_mbuf *packets[MOST_BURST];
    const unsigned n = ring_pop(&with->to_client[number], packets, with->burst);
    for (unsigned i = 0; i < n; i++) {
        const uint16_t port = packets[i]->port ^ 1;
        change_addresses(packets[i], port);
        if (with->place == IN_CLIENTS)
            note(&client->seen, packets[i]);
        client->batches[port].packets[client->batches[port].n++] = packets[i];
    }
    return !(send_out(round, number) && last && n == 0);
}

/* The tester. */

static void fill(struct round *round, struct batch *batch, unsigned port)
{
    struct tester *tester = &round->tester;
    if (rte_pktmbuf_alloc_bulk(round->with->pool, batch->packets, round->with->burst) != 0)
        return;
    batch->n = round->with->burst;
    for (unsigned i = 0; i < batch->n; i++) {
        batch->packets[i]->data_len = RTE_ETHER_MIN_LEN;
        batch->packets[i]->pkt_len = RTE_ETHER_MIN_LEN;
        batch->packets[i]->hash.usr = ++tester->numbers[port];
    }
    tester->made += batch->n;
}

static bool make_packets(struct round *round, unsigned number)
{
    (void)number;
    const bool last = rte_rdtsc() >= round->until && round->tester.made > 0;
    bool all = true;
    for (unsigned port = 0; port < PORTS; port++) {
        struct batch *batch = &round->tester.batches[port];
        if (batch->n == 0 && !last)
            fill(round, batch, port);
        const struct ring *in = &round->with->ring_ports[port].in;
        keep_rest(batch, ring_push(in, batch->packets, batch->n));
        all = all && batch->n == 0;
    }
    return !(last && all);
}

static bool take_packets(struct round *round, unsigned number)
{
    (void)number;
    const struct forwarding *with = round->with;
    const bool last = count(&round->ended.clients) == with->clients;
    unsigned taken = 0;
    for (unsigned port = 0; port < PORTS; port++) {
        for (unsigned client = 0; client < with->clients; client++) {
            struct rte_mbuf *packets[MOST_BURST];
            const struct ring *out = &with->ring_ports[port].out[client];
            const unsigned n = ring_pop(out, packets, with->burst);
            for (unsigned i = 0; i < n; i++)
                note(&round->tester.seen[port][client], packets[i]);
            rte_pktmbuf_free_bulk(packets, n);
            taken += n;
        }
    }
    return !(last && taken == 0);
}

/* A round. */

/* What an lcore runs: its roles in turn, until all have ended. */
static int work(void *given)
{
    struct crew *crew = given;
    unsigned left = crew->n;
    crew->from = rte_rdtsc();
    while (left > 0) {
        for (unsigned i = 0; i < crew->n; i++) {
            struct role *role = &crew->roles[i];
            if (role->turn == NULL || role->turn(crew->round, role->number))
                continue;
            role->turn = NULL;
            left--;
            /* Release, which pairs with the acquire in `count`: what the role has pushed. */
            __atomic_fetch_add(role->ended, 1, __ATOMIC_RELEASE);
        }
    }
    crew->to = rte_rdtsc();
    return 0;
}

static void join(struct crew *crew, turn *turn, unsigned number, unsigned *ended)
{
    crew->roles[crew->n++] = (struct role){turn, number, ended};
}

/* The lcore behind this one, of all but the first; the first if it is the only one. */
static unsigned next_lcore(unsigned lcore)
{
    return rte_lcore_count() == 1 ? lcore : rte_get_next_lcore(lcore, 1, 1);
}

static void deal(struct crew *crews, struct round *round)
{
    struct crew *first = &crews[rte_get_main_lcore()];
    unsigned lcore = rte_get_main_lcore();
    if (round->with->place == IN_PORTS) {
        join(first, make_packets, 0, &round->ended.sources);
        join(first, take_packets, 0, &round->ended.sinks);
        lcore = next_lcore(lcore);
    }
    join(&crews[lcore], serve, 0, &round->ended.servers);
    for (unsigned i = 0; i < round->with->clients; i++) {
        lcore = next_lcore(lcore);
        join(&crews[lcore], be_client, i, &round->ended.clients);
    }
}

static void add(struct outcome *outcome, const struct numbers *seen)
{
    outcome->out += seen->packets;
    outcome->out_of_order += seen->out_of_order;
}

static struct outcome outcome_of(const struct round *round, const struct crew *crews)
{
    struct outcome outcome = {.in = round->server.received};
    const struct tester *tester = &round->tester;
    uint64_t from = UINT64_MAX, to = 0;
    for (unsigned lcore = 0; lcore < RTE_MAX_LCORE; lcore++) {
        if (crews[lcore].n == 0)
            continue;
        from = RTE_MIN(from, crews[lcore].from);
        to = RTE_MAX(to, crews[lcore].to);
    }
    outcome.seconds = (double)(to - from) / (double)rte_get_tsc_hz();
    if (round->with->place == IN_PORTS)
        outcome.in = tester->made;
    for (unsigned client = 0; client < round->with->clients; client++) {
        add(&outcome, &round->clients[client].seen);
        for (unsigned port = 0; port < PORTS; port++)
            add(&outcome, &tester->seen[port][client]);
    }
    outcome.missing = rte_mempool_in_use_count(round->with->pool);
    return outcome;
}

struct outcome forward(const struct forwarding *forwarding, double seconds)
{
    static struct round round;
    static struct crew crews[RTE_MAX_LCORE];
    memset(&round, 0, sizeof(round));
    memset(crews, 0, sizeof(crews));
    round.with = forwarding;
    deal(crews, &round);
    round.until = rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
    unsigned lcore;
    RTE_LCORE_FOREACH_WORKER(lcore)
    {
        crews[lcore].round = &round;
        if (crews[lcore].n > 0 && rte_eal_remote_launch(work, &crews[lcore], lcore) != 0)
            rte_exit(EXIT_FAILURE, "lcore %u doesn't start\n", lcore);
    }
    crews[rte_get_main_lcore()].round = &round;
    work(&crews[rte_get_main_lcore()]);
    rte_eal_mp_wait_lcore();
    return outcome_of(&round, crews);
}
