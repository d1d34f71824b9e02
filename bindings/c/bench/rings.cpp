/* What a call of corelane costs from Rust, C and C++, beside the rings of C++: numbers from one
 * thread to another, one by one and in batches, all in one process, in turns.
 *
 *     rings [--rounds N] [--items N] [--batch N] [--capacity N] [--cores A,B] */

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include <corelane.hpp>

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
#include <boost/lockfree/spsc_queue.hpp>
#define HAS_BOOST 1
#endif
#if __has_include(<readerwriterqueue/readerwriterqueue.h>)
#include <readerwriterqueue/readerwriterqueue.h>
#define HAS_READERWRITERQUEUE 1
#endif
#if __has_include(<rigtorp/SPSCQueue.h>)
#include <rigtorp/SPSCQueue.h>
#define HAS_RIGTORP 1
#endif

extern "C" {
struct rust_sides;
rust_sides *rust_create(std::size_t capacity);
void rust_free(rust_sides *);
void rust_send(rust_sides *, std::uint64_t n, std::size_t batch);
std::uint64_t rust_receive(rust_sides *, std::uint64_t n, std::size_t batch);
}

using number = std::uint64_t;

static std::uint64_t rounds = 15, items = 2000000;
static std::size_t batch = 32, capacity = 1024;
static int cores[2] = {0, 1};

static void spin()
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* The loops of a queue: one side each. */
struct loops {
    std::function<void(std::uint64_t)> send;
    std::function<std::uint64_t(std::uint64_t)> receive;
};

struct candidate {
    const char *name;
    const char *calls;
    std::function<loops()> make;
};

template <class Push> static auto one_by_one(Push push)
{
    return [push](std::uint64_t n) {
        for (number i = 0; i < n; i++)
            while (!push(i))
                spin();
    };
}

/* `pop` adds an item to the sum, if there is one. */
template <class Pop> static auto each(Pop pop)
{
    return [pop](std::uint64_t n) {
        std::uint64_t sum = 0;
        while (n > 0)
            if (pop(sum))
                n--;
            else
                spin();
        return sum;
    };
}

/* `push` pushes some of the numbers, and returns how many. */
template <class Push> static auto in_batches(Push push)
{
    return [push](std::uint64_t n) {
        std::vector<number> numbers(batch);
        for (number first = 0; first < n; first += batch) {
            for (std::size_t i = 0; i < batch; i++)
                numbers[i] = first + i;
            for (std::size_t done = 0; done < batch;)
                done += push(numbers.data() + done, batch - done);
        }
    };
}

template <class Pop> static auto by_batches(Pop pop)
{
    return [pop](std::uint64_t n) {
        std::vector<number> numbers(batch);
        std::uint64_t sum = 0;
        while (n > 0) {
            const std::size_t popped = pop(numbers.data(), batch);
            for (std::size_t i = 0; i < popped; i++)
                sum += numbers[i];
            n -= popped;
        }
        return sum;
    };
}

static std::shared_ptr<corelane::queue<number>> queue(corelane_kind kind)
{
    corelane::status answer;
    auto made = std::make_shared<corelane::queue<number>>(
        corelane::make<number>(kind, capacity, answer));
    if (answer != corelane::status::ok) {
        std::fprintf(stderr, "rings: no queue: %s\n", corelane::text(answer));
        std::exit(2);
    }
    return made;
}

static loops rust(std::size_t batch)
{
    std::shared_ptr<rust_sides> sides(rust_create(capacity), rust_free);
    return {[=](std::uint64_t n) { rust_send(sides.get(), n, batch); },
            [=](std::uint64_t n) { return rust_receive(sides.get(), n, batch); }};
}

static std::vector<candidate> candidates()
{
    std::vector<candidate> all;
    all.push_back({"corelane, Rust", "one", [] { return rust(1); }});
    all.push_back({"corelane, C++", "one", [] {
                       auto q = queue(CORELANE_KIND_ONE_TO_ONE);
                       return loops{one_by_one([q](number i) { return q->tx.try_push(i); }),
                                    each([q](std::uint64_t &sum) {
                                        const auto popped = q->rx.try_pop();
                                        sum += popped ? *popped : 0;
                                        return popped.has_value();
                                    })};
                   }});
#ifdef HAS_BOOST
    using boost_ring = boost::lockfree::spsc_queue<number>;
    all.push_back({"Boost", "one", [] {
                       auto q = std::make_shared<boost_ring>(capacity);
                       return loops{one_by_one([q](number i) { return q->push(i); }),
                                    each([q](std::uint64_t &sum) {
                                        number i;
                                        if (!q->pop(i))
                                            return false;
                                        sum += i;
                                        return true;
                                    })};
                   }});
#endif
#ifdef HAS_READERWRITERQUEUE
    using moodycamel_ring = moodycamel::ReaderWriterQueue<number>;
    all.push_back({"readerwriterqueue", "one", [] {
                       auto q = std::make_shared<moodycamel_ring>(capacity);
                       return loops{one_by_one([q](number i) { return q->try_enqueue(i); }),
                                    each([q](std::uint64_t &sum) {
                                        number i;
                                        if (!q->try_dequeue(i))
                                            return false;
                                        sum += i;
                                        return true;
                                    })};
                   }});
#endif
#ifdef HAS_RIGTORP
    using rigtorp_ring = rigtorp::SPSCQueue<number>;
    all.push_back({"rigtorp", "one", [] {
                       auto q = std::make_shared<rigtorp_ring>(capacity);
                       return loops{one_by_one([q](number i) { return q->try_push(i); }),
                                    each([q](std::uint64_t &sum) {
                                        const number *front = q->front();
                                        if (front == nullptr)
                                            return false;
                                        sum += *front;
                                        q->pop();
                                        return true;
                                    })};
                   }});
#endif
    all.push_back({"corelane, Rust", "batch", [] { return rust(batch); }});
    all.push_back({"corelane, C++", "batch", [] {
                       auto q = queue(CORELANE_KIND_ONE_TO_ONE);
                       return loops{in_batches([q](const number *from, std::size_t n) {
                                        return q->tx.try_push_many(from, n);
                                    }),
                                    by_batches([q](number *into, std::size_t n) {
                                        return q->rx.try_pop_many(into, n);
                                    })};
                   }});
    all.push_back({"corelane, C++, in place", "batch", [] {
                       auto q = queue(CORELANE_KIND_IN_PLACE);
                       auto send = [q](std::uint64_t n) {
                           for (number i = 0; i < n;) {
                               const auto slots = q->tx.lend(batch);
                               for (number &slot : slots)
                                   slot = i++;
                               if (!slots.empty())
                                   q->tx.publish(slots.size() - (i > n ? i - n : 0));
                           }
                       };
                       auto receive = [q](std::uint64_t n) {
                           std::uint64_t sum = 0;
                           while (n > 0) {
                               const auto there = q->rx.peek(batch);
                               for (const number i : there)
                                   sum += i;
                               if (!there.empty())
                                   q->rx.release(there.size());
                               n -= there.size();
                           }
                           return sum;
                       };
                       return loops{send, receive};
                   }});
#ifdef HAS_BOOST
    all.push_back({"Boost", "batch", [] {
                       auto q = std::make_shared<boost_ring>(capacity);
                       return loops{in_batches([q](const number *from, std::size_t n) {
                                        return q->push(from, n);
                                    }),
                                    by_batches([q](number *into, std::size_t n) {
                                        return q->pop(into, n);
                                    })};
                   }});
#endif
    return all;
}

static void pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) != 0) {
        std::fprintf(stderr, "rings: this process can't use core %d: see --cores\n", core);
        std::exit(2);
    }
}

static double nanoseconds(std::chrono::steady_clock::time_point from)
{
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count();
}

/* The time of a line from core to core and back. */
static double line_rtt()
{
    constexpr int turns = 2000;
    alignas(64) static std::atomic<int> line;
    line = 0;
    std::thread other([] {
        pin(cores[1]);
        for (int i = 0; i < turns; i++) {
            while (line.load(std::memory_order_acquire) != 2 * i + 1)
                ;
            line.store(2 * i + 2, std::memory_order_release);
        }
    });
    double best = 0;
    for (int part = 0; part < 10; part++) {
        const auto from = std::chrono::steady_clock::now();
        for (int i = part * turns / 10; i < (part + 1) * turns / 10; i++) {
            line.store(2 * i + 1, std::memory_order_release);
            while (line.load(std::memory_order_acquire) != 2 * i + 2)
                ;
        }
        const double time = nanoseconds(from) / (turns / 10);
        best = part == 0 ? time : std::min(best, time);
    }
    other.join();
    return best;
}

/* Nanoseconds an item. */
static double measure(const candidate &candidate)
{
    const loops loops = candidate.make();
    std::atomic<int> ready{0};
    const auto meet = [&] {
        ready++;
        while (ready < 2)
            ;
    };
    std::thread sender([&] {
        pin(cores[1]);
        meet();
        loops.send(items);
    });
    meet();
    const auto from = std::chrono::steady_clock::now();
    const std::uint64_t sum = loops.receive(items);
    const double time = nanoseconds(from);
    sender.join();
    if (sum != items * (items - 1) / 2) {
        std::fprintf(stderr, "rings: %s lost a number\n", candidate.name);
        std::exit(1);
    }
    return time / static_cast<double>(items);
}

static double quantile(std::vector<double> values, double part)
{
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

static void print(const char *group, const std::vector<candidate> &all,
                  const std::vector<std::vector<double>> &times)
{
    if (times.empty() || times[0].empty())
        return;
    std::printf("\n%s, %zu rounds. Nanoseconds an item: median, quartiles; the time of the ring behind it to that of "
                "corelane's C++ in the same round\n\n", group, times[0].size());
    std::printf("| calls | queue | ns | quartiles | time to corelane, C++ |\n|---|---|---|---|---|\n");
    std::size_t base = 0;
    for (std::size_t i = 0; i < all.size(); i++) {
        for (std::size_t k = 0; k < all.size(); k++)
            if (std::strcmp(all[k].name, "corelane, C++") == 0 && std::strcmp(all[k].calls, all[i].calls) == 0)
                base = k;
        std::vector<double> ratios;
        for (std::size_t round = 0; round < times[i].size(); round++)
            ratios.push_back(times[i][round] / times[base][round]);
        std::printf("| %s | %s | %.2f | %.2f to %.2f | %.2f |\n", all[i].calls, all[i].name,
                    quantile(times[i], 0.5), quantile(times[i], 0.25), quantile(times[i], 0.75),
                    quantile(ratios, 0.5));
    }
}

[[noreturn]] static void usage()
{
    std::fprintf(stderr, "rings: use: rings [--rounds N] [--items N] [--batch N] [--capacity N] [--cores A,B]\n");
    std::exit(2);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 == argc)
            usage();
        const auto value = std::strtoull(argv[i + 1], nullptr, 10);
        if (name == "--cores") {
            if (std::sscanf(argv[i + 1], "%d,%d", &cores[0], &cores[1]) != 2)
                usage();
        } else if (value == 0) {
            usage();
        } else if (name == "--rounds") {
            rounds = value;
        } else if (name == "--items") {
            items = value;
        } else if (name == "--batch") {
            batch = value;
        } else if (name == "--capacity") {
            capacity = value;
        } else {
            usage();
        }
    }
    items = (items + batch - 1) / batch * batch;
    pin(cores[0]);
    const auto all = candidates();
    /* Near: the cores share a cache, as `lane bench` says. */
    constexpr double near = 220;
    std::vector<std::vector<double>> groups[2];
    for (auto &group : groups)
        group.resize(all.size());
    std::size_t mixed = 0;
    for (std::uint64_t round = 0; round < rounds; round++) {
        std::fprintf(stderr, "round %llu of %llu\r", static_cast<unsigned long long>(round + 1),
                     static_cast<unsigned long long>(rounds));
        const bool before = line_rtt() < near;
        std::vector<double> times;
        for (std::size_t i = 0; i < all.size(); i++)
            times.push_back(measure(all[(i + round) % all.size()]));
        if ((line_rtt() < near) != before) {
            mixed++;
            continue;
        }
        for (std::size_t i = 0; i < all.size(); i++)
            groups[before][(i + round) % all.size()].push_back(times[i]);
    }
    print("Near cores", all, groups[1]);
    print("Far cores", all, groups[0]);
    if (mixed > 0)
        std::printf("\n%zu rounds left out: the cores moved between near and far.\n", mixed);
}
