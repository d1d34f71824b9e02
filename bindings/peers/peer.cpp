/* The peer in C++. */

#include <corelane.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

struct tick {
    explicit tick(std::uint64_t n) : number(n), product(n * 0x9E3779B97F4A7C15) {}
    std::uint64_t number, product;
};

static std::size_t words(std::uint64_t number) { return 1 + number % 16; }

/* Takes a side, which the system may still give back after a kill. */
template <class Take> static auto side(Take take)
{
    for (int i = 0;; i++) {
        try {
            return take();
        } catch (const corelane::error &error) {
            if (error.answer() != corelane::status::taken || i == 5000)
                throw;
            std::this_thread::sleep_for(1ms);
        }
    }
}

template <class Side> static void meet(const Side &side)
{
    if (!side.wait_for_peer(20s))
        throw std::runtime_error("no peer has come");
}

static void check(bool is_next, std::uint64_t next)
{
    if (!is_next)
        throw std::runtime_error("another item instead of " + std::to_string(next));
}

static void push(corelane::lane &lane, std::uint64_t items)
{
    auto tx = side([&] { return lane.producer<tick>(); });
    while (tx.position() < items)
        if (!tx.push(tick(tx.position())))
            meet(tx);
}

static void pop(corelane::lane &lane, std::uint64_t items)
{
    auto rx = side([&] { return lane.consumer<tick>(); });
    for (std::uint64_t next; (next = rx.position()) < items;) {
        if (const auto item = rx.pop())
            check(item->number == next && item->product == tick(next).product, next);
        else
            meet(rx);
    }
}

static void push_records(corelane::lane &lane, std::uint64_t items)
{
    auto tx = side([&] { return lane.record_producer(); });
    for (std::uint64_t next; (next = tx.position()) < items;) {
        const auto room = tx.claim(8 * words(next));
        if (room.empty()) {
            meet(tx);
            continue;
        }
        for (std::size_t i = 0; i < words(next); i++)
            std::memcpy(room.data() + 8 * i, &next, 8);
        tx.commit(room.size());
    }
}

static void pop_records(corelane::lane &lane, std::uint64_t items)
{
    auto rx = side([&] { return lane.record_consumer(); });
    for (std::uint64_t next; (next = rx.position()) < items;) {
        const auto record = rx.peek();
        if (!record) {
            meet(rx);
            continue;
        }
        check(record->size() == 8 * words(next), next);
        for (std::size_t i = 0; i < words(next); i++)
            check(std::memcmp(record->data() + 8 * i, &next, 8) == 0, next);
        rx.release();
    }
}

int main(int argc, char **argv)
{
    try {
        if (argc != 5)
            throw std::runtime_error("use: peer push|pop items|records DESCRIPTOR ITEMS");
        const std::string role = argv[1], kind = argv[2];
        const bool is_records = kind == "records", is_push = role == "push";
        const auto what = is_records ? corelane::carry_records() : corelane::carry<tick>("Tick");
        auto lane = corelane::lane::open(what, std::atoi(argv[3]));
        const auto items = std::strtoull(argv[4], nullptr, 10);
        if (is_records)
            (is_push ? push_records : pop_records)(lane, items);
        else
            (is_push ? push : pop)(lane, items);
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "peer in C++: %s\n", error.what());
        return 1;
    }
}
