/* Forwards packets over DPDK's rte_ring and over corelane's bbq, in turns, and compares them. */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "forward.h"

enum { MOST_ROUNDS = 1000, MOST_ARGUMENTS = 100 };

/* Options of DPDK itself, before those of the command line: no huge pages, no files and no hardware,
 * so that any user can run it. */
static char *const EAL_OPTIONS[] = {
    "--no-huge",         "--no-shconf",       "--no-pci",          "--no-telemetry", "-m", "512",
    "--log-level=error", "--vdev=net_null0", "--vdev=net_null1",
};

struct options {
    unsigned rounds, ms, capacity, clients, burst;
    bool places[PLACES];
};

static const char USAGE[] =
    "[options of DPDK] -- [options]\n"
    "  --place P     clients (rings between the server and its clients), ports (rings under the\n"
    "                ports), or both, the default\n"
    "  --rounds N    rounds of each ring (9)\n"
    "  --ms N        milliseconds of a round (200)\n"
    "  --capacity N  packets of a ring, a power of two (1024)\n"
    "  --clients N   clients of the server, 1 to 8 (2)\n"
    "  --burst N     most packets of a call, 1 to 64 (32)\n";

static unsigned number(const char *text, unsigned least, unsigned most)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (*text == '-' || end == text || *end != '\0' || value < least || value > most)
        rte_exit(EXIT_FAILURE, "%s is not a number from %u to %u\n%s", text, least, most, USAGE);
    return (unsigned)value;
}

static void choose_places(struct options *options, const char *text)
{
    options->places[IN_CLIENTS] = strcmp(text, "ports") != 0;
    options->places[IN_PORTS] = strcmp(text, "clients") != 0;
    if (options->places[IN_CLIENTS] && options->places[IN_PORTS] && strcmp(text, "both") != 0)
        rte_exit(EXIT_FAILURE, "%s is not a place\n%s", text, USAGE);
}

static struct options parse(int argc, char **argv)
{
    static const struct option LONG[] = {
        {"place", required_argument, NULL, 'p'},  {"rounds", required_argument, NULL, 'r'},
        {"ms", required_argument, NULL, 'm'},     {"capacity", required_argument, NULL, 'n'},
        {"clients", required_argument, NULL, 'c'}, {"burst", required_argument, NULL, 'b'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    struct options options = {9, 200, 1024, 2, 32, {true, true}};
    int option;
    while ((option = getopt_long(argc, argv, "", LONG, NULL)) != -1) {
        switch (option) {
        case 'p': choose_places(&options, optarg); break;
        case 'r': options.rounds = number(optarg, 1, MOST_ROUNDS); break;
        case 'm': options.ms = number(optarg, 1, 60000); break;
        case 'n': options.capacity = number(optarg, 16, 65536); break;
        case 'c': options.clients = number(optarg, 1, MOST_CLIENTS); break;
        case 'b': options.burst = number(optarg, 1, MOST_BURST); break;
        case 'h': fputs(USAGE, stdout); exit(EXIT_SUCCESS);
        default: rte_exit(EXIT_FAILURE, "%s", USAGE);
        }
    }
    if (optind < argc || (options.capacity & (options.capacity - 1)) != 0)
        rte_exit(EXIT_FAILURE, "%s", USAGE);
    return options;
}

/* Enough packets to fill the rings of either place, the batches and the lcores' caches. */
static struct rte_mempool *make_pool(const struct options *options)
{
    const unsigned cache = RTE_MEMPOOL_CACHE_MAX_SIZE / 2;
    const unsigned rings = PORTS + (PORTS + 1) * options->clients;
    const unsigned packets =
        rings * (options->capacity + 2 * MOST_BURST) + 2 * cache * rte_lcore_count();
    const uint16_t room = RTE_PKTMBUF_HEADROOM + 2 * RTE_ETHER_MIN_LEN;
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("packets", packets, cache, 0, room, (int)rte_socket_id());
    if (pool == NULL)
        rte_exit(EXIT_FAILURE, "no pool of %u packets: %s; -m sets the MiB\n", packets,
                 rte_strerror(rte_errno));
    return pool;
}

static void prepare(struct forwarding *with, enum place place, enum kind kind,
                    const struct options *options, struct rte_mempool *pool,
                    const uint16_t nulls[PORTS])
{
    const bool is_between = place == IN_CLIENTS;
    with->place = place;
    with->clients = options->clients;
    with->burst = options->burst;
    with->pool = pool;
    for (unsigned i = 0; i < options->clients; i++)
        with->to_client[i] = ring_make(is_between ? kind : RTE_SINGLE, options->capacity);
    for (unsigned i = 0; i < PORTS; i++)
        with->ports[i] = is_between ? nulls[i]
                                    : ring_port(&with->ring_ports[i], kind, options->clients,
                                                options->capacity, pool);
}

/* Ends the program if a packet is lost, doubled or overtaken. */
static void check(const struct outcome *outcome, const char *ring)
{
    if (outcome->in == outcome->out && outcome->out_of_order == 0 && outcome->missing == 0)
        return;
    rte_exit(EXIT_FAILURE,
             "%s: %" PRIu64 " packets in, %" PRIu64 " out, %" PRIu64
             " of them out of order, %u missing from the pool\n",
             ring, outcome->in, outcome->out, outcome->out_of_order, outcome->missing);
}

/* What was measured with one kind of ring in one place. */
struct row {
    double rates[MOST_ROUNDS];  /* million packets a second */
    double ratios[MOST_ROUNDS]; /* to the same round of rte_ring */
    uint64_t packets;
};

static void measure(struct row rows[KINDS], const struct forwarding with[KINDS],
                    const struct options *options, int round)
{
    for (enum kind kind = 0; kind < KINDS; kind++) {
        const struct outcome outcome = forward(&with[kind], options->ms / 1e3);
        check(&outcome, KIND_NAMES[kind]);
        if (round < 0)
            continue;
        struct row *row = &rows[kind];
        row->packets += outcome.out;
        row->rates[round] = (double)outcome.out / outcome.seconds / 1e6;
        if (is_bbq(kind))
            row->ratios[round] = row->rates[round] / rows[kind - 1].rates[round];
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median and the quartiles of `values`, which it sorts. */
static void print_quartiles(double *values, unsigned n)
{
    qsort(values, n, sizeof(values[0]), compare);
    char range[32];
    snprintf(range, sizeof(range), "%.2f-%.2f", values[(n - 1) / 4], values[n - 1 - (n - 1) / 4]);
    const double median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    printf(" %9.2f %13s", median, range);
}

static void print_table(struct row rows[KINDS], enum place place, const struct options *options)
{
    static const char *const WHERE[PLACES] = {
        [IN_CLIENTS] = "between the server and its clients",
        [IN_PORTS] = "under the ports",
    };
    printf("\nRings %s\n%-24s %12s %9s %13s %9s %13s\n", WHERE[place], "", "packets", "million/s",
           "quartiles", "/rte_ring", "quartiles");
    for (enum kind kind = 0; kind < KINDS; kind++) {
        printf("%-24s %12" PRIu64, KIND_NAMES[kind], rows[kind].packets);
        print_quartiles(rows[kind].rates, options->rounds);
        if (is_bbq(kind))
            print_quartiles(rows[kind].ratios, options->rounds);
        printf("\n");
    }
}

/* Starts DPDK. The options behind `--` are the program's own. */
static struct options begin(int argc, char **argv)
{
    static char *all[MOST_ARGUMENTS + 1];
    const int ours = RTE_DIM(EAL_OPTIONS);
    if (argc + ours > MOST_ARGUMENTS)
        rte_exit(EXIT_FAILURE, "too many options\n");
    all[0] = argv[0];
    memcpy(all + 1, EAL_OPTIONS, sizeof(EAL_OPTIONS));
    memcpy(all + 1 + ours, argv + 1, (size_t)(argc - 1) * sizeof(argv[0]));
    const int used = rte_eal_init(argc + ours, all);
    if (used < 0)
        rte_exit(EXIT_FAILURE, "no EAL: %s\n", rte_strerror(rte_errno));
    return parse(argc + ours - used, all + used);
}

int main(int argc, char **argv)
{
    static struct forwarding forwardings[PLACES][KINDS];
    static struct row rows[PLACES][KINDS];
    const struct options options = begin(argc, argv);
    struct rte_mempool *pool = make_pool(&options);
    uint16_t nulls[PORTS];
    null_ports(nulls, options.clients, pool);
    for (enum place place = 0; place < PLACES; place++)
        for (enum kind kind = 0; kind < KINDS; kind++)
            if (options.places[place])
                prepare(&forwardings[place][kind], place, kind, &options, pool, nulls);
    printf("%u lcores, %u clients, rings of %u packets, bursts of up to %u; %u rounds of %u ms in "
           "turns\n",
           rte_lcore_count(), options.clients, options.capacity, options.burst, options.rounds,
           options.ms);
    /* The first round warms up. */
    for (int round = -1; round < (int)options.rounds; round++)
        for (enum place place = 0; place < PLACES; place++)
            if (options.places[place])
                measure(rows[place], forwardings[place], &options, round);
    for (enum place place = 0; place < PLACES; place++)
        if (options.places[place])
            print_table(rows[place], place, &options);
    printf("\nNo packet was lost, doubled or overtaken, and all are back in the pool.\n");
    return rte_eal_cleanup();
}
