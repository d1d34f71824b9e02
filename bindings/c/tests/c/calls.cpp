/* The C++ header, as programs use it. Ends with 0 if all is as documented. */

#include <corelane.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

using namespace std::chrono_literals;
using corelane::status;

/* It has no default constructor. */
struct tick {
    explicit tick(std::uint64_t n) : number(n), product(n * 7) {}
    std::uint64_t number, product;
};

constexpr std::uint64_t some = 20000;

static corelane::queue<tick> made(corelane_kind kind, std::size_t capacity)
{
    status answer;
    auto both = corelane::make<tick>(kind, capacity, answer);
    CHECK(answer == status::ok && both.tx && both.rx);
    return both;
}

static void one_to_one()
{
    auto [tx, rx] = made(CORELANE_KIND_ONE_TO_ONE, 100);
    CHECK(!rx.try_pop() && !rx.pop_for(1ms));
    std::thread sender([tx = std::move(tx)]() mutable {
        for (std::uint64_t n = 0; n < some; n++)
            CHECK(tx.push(tick(n)));
    });
    std::uint64_t next = 0;
    for (const tick &item : rx) {
        CHECK(item.number == next && item.product == 7 * next);
        next++;
    }
    sender.join();
    CHECK(next == some && rx.is_closed());
}

static void several()
{
    auto [tx, rx] = made(CORELANE_KIND_SEVERAL, 64);
    std::vector<std::thread> threads;
    std::array<std::uint64_t, 2> sums{};
    for (int i = 0; i < 2; i++) {
        threads.emplace_back([tx = tx.clone()]() mutable {
            for (std::uint64_t n = 1; n <= some; n++)
                CHECK(tx.push(tick(n)));
        });
        threads.emplace_back([rx = rx.clone(), &sum = sums[i]]() mutable {
            std::array<std::uint64_t, 2 * 8> room;
            auto *into = reinterpret_cast<tick *>(room.data());
            while (const std::size_t n = rx.pop_many(into, 8))
                for (std::size_t k = 0; k < n; k++)
                    sum += into[k].number;
        });
    }
    tx.close();
    CHECK(!tx);
    for (auto &thread : threads)
        thread.join();
    CHECK(sums[0] + sums[1] == some * (some + 1));
}

static void in_place()
{
    auto [tx, rx] = made(CORELANE_KIND_IN_PLACE, 16);
    CHECK(!tx.clone() && rx.peek(1).empty());
    const auto slots = tx.lend(3);
    CHECK(slots.size() == 3);
    std::uint64_t n = 0;
    for (tick &slot : slots)
        slot = tick(n++);
    CHECK(tx.publish(3) && tx.size() == 3);
    const auto items = rx.peek(2);
    CHECK(items.size() == 2 && items[1].number == 1 && rx.release(2));
    CHECK(rx.pop()->number == 2);
    const std::vector<tick> many(40, tick(9));
    CHECK(tx.try_push_many(many.data(), many.size()) >= 16);
    CHECK(tx.push_for(tick(1), 1ms) == status::full);
    rx.close();
    CHECK(tx.is_closed() && !tx.push(tick(1)));
}

static void records()
{
    status answer;
    auto [tx, rx] = corelane::make_records(false, 4096, answer);
    CHECK(answer == status::ok && !rx.try_peek());
    CHECK(tx.push("hello") == status::ok);
    const auto room = tx.claim(4);
    CHECK(room.size() == 4 && tx.claim(tx.max_len() + 1).empty());
    CHECK(rx.peek()->size() == 5 && rx.release() && !rx.release());
    tx.close();
    CHECK(!rx.peek());
}

static void lanes()
{
    status answer;
    const auto what = corelane::carry<tick>("Tick");
    auto lane = corelane::lane::create(what, 10, answer);
    CHECK(answer == status::ok);
    auto tx = lane.producer<tick>(answer);
    CHECK(answer == status::ok && tx.peer() == CORELANE_PEER_ABSENT);
    CHECK(!lane.producer<tick>(answer) && answer == status::taken);
    auto rx = lane.consumer<tick>(answer);
    CHECK(tx.push(tick(3)) && rx.pop()->number == 3 && rx.wait_for_peer(1s));
    auto bytes = corelane::lane::create(corelane::carry_records(100), 1000, answer);
    auto writer = bytes.record_producer(answer);
    auto reader = bytes.record_consumer(answer);
    CHECK(writer.push("abc") == status::ok && reader.peek()->size() == 3);
}

static void stealing()
{
    status answer;
    corelane::worker<int> worker(CORELANE_ORDER_LIFO, 64, answer);
    CHECK(answer == status::ok);
    for (int n = 0; n < 64; n++)
        CHECK(worker.push(n));
    std::array<int, 64> loot;
    auto thief = worker.stealer().clone();
    const std::size_t stolen = thief.steal(loot.data(), loot.size());
    CHECK(stolen > 0 && loot[0] == 0 && worker.pop() == 63);
}

static void overwriting_and_errors()
{
    status answer;
    auto [tx, rx] = corelane::make<int>(CORELANE_KIND_OVERWRITING, 8, answer);
    for (int n = 0; n < 100; n++)
        CHECK(tx.push(n));
    CHECK(rx.pop() && rx.lost() > 0);
    CHECK(!corelane::make<int>(CORELANE_KIND_ONE_TO_ONE, 0, answer).tx && answer == status::invalid);
#ifdef CORELANE_EXCEPTIONS
    try {
        corelane::one_to_one<int>(0);
        CHECK(!"an exception");
    } catch (const corelane::error &error) {
        CHECK(error.answer() == status::invalid);
    }
    CHECK(corelane::several<int>(4).tx.try_push(1));
    CHECK(corelane::lane::create(corelane::carry<int>("i32"), 4).producer<int>().push(1));
#endif
}

int main()
{
    one_to_one();
    several();
    in_place();
    records();
    lanes();
    stealing();
    overwriting_and_errors();
    std::puts("all calls are as documented");
}
