/* corelane for C++17: handles that close themselves, items of any trivially copyable type.
 *
 *     auto [tx, rx] = corelane::one_to_one<tick>(1024);
 *     std::thread sender([tx = std::move(tx)]() mutable { tx.push(tick{1, 2.5}); });
 *     for (const tick &item : rx)   // until the producer is closed
 *         use(item);
 *
 * A handle belongs to one thread at a time, and can be moved. Calls that can fail in more than one
 * way answer a `corelane::status`. Calls that make something throw `corelane::error`; each has a
 * variant with a `status` as its last argument that doesn't, and is there without exceptions, too.
 * corelane.h documents each call. */

#ifndef CORELANE_HPP
#define CORELANE_HPP

#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "corelane.h"

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#include <stdexcept>
#define CORELANE_EXCEPTIONS 1
#endif

namespace corelane {

/* What a call answers: `corelane_status` without the prefix. */
enum class status {
    ok = CORELANE_STATUS_OK,
    full = CORELANE_STATUS_FULL,
    empty = CORELANE_STATUS_EMPTY,
    busy = CORELANE_STATUS_BUSY,
    closed = CORELANE_STATUS_CLOSED,
    invalid = CORELANE_STATUS_INVALID,
    no_memory = CORELANE_STATUS_NO_MEMORY,
    too_large = CORELANE_STATUS_TOO_LARGE,
    system = CORELANE_STATUS_SYSTEM,
    not_a_lane = CORELANE_STATUS_NOT_A_LANE,
    differs = CORELANE_STATUS_DIFFERS,
    taken = CORELANE_STATUS_TAKEN,
    refused = CORELANE_STATUS_REFUSED,
    corrupt = CORELANE_STATUS_CORRUPT,
};

inline const char *text(status answer) noexcept
{
    return corelane_status_text(static_cast<corelane_status>(answer));
}

#ifdef CORELANE_EXCEPTIONS
class error : public std::runtime_error {
public:
    explicit error(status answer) : std::runtime_error(why(answer)), answer_(answer) {}

    status answer() const noexcept { return answer_; }

private:
    static std::string why(status answer)
    {
        const char *last = answer == status::invalid ? nullptr : corelane_last_error();
        return last != nullptr ? last : text(answer);
    }

    status answer_;
};
#endif

/* How a handle's calls wait. */
enum class strategy {
    adaptive = CORELANE_STRATEGY_ADAPTIVE,
    spin = CORELANE_STRATEGY_SPIN,
    yield = CORELANE_STRATEGY_YIELD,
    sleep = CORELANE_STRATEGY_SLEEP,
};

/* Items or bytes in a row. Converts to `std::span`. */
template <class T> class span {
public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {

/* As a timeout of C. */
template <class Rep, class Period>
std::int64_t nanoseconds(std::chrono::duration<Rep, Period> time) noexcept
{
    const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    return count < 0 ? 0 : static_cast<std::int64_t>(count);
}

template <class H, void (*close)(H **)> struct closes {
    void operator()(H *handle) const noexcept { close(&handle); }
};

template <class H, void (*close)(H **)> using owned = std::unique_ptr<H, closes<H, close>>;

/* Any trivially copyable type, also without a default constructor. */
template <class T> class place {
public:
    T *get() noexcept { return std::launder(reinterpret_cast<T *>(bytes_)); }

private:
    alignas(T) unsigned char bytes_[sizeof(T)];
};

#ifdef CORELANE_EXCEPTIONS
inline void check(status answer)
{
    if (answer != status::ok)
        throw error(answer);
}

/* What `make` gives, if its answer is ok. */
template <class Make> auto checked(Make make)
{
    status answer;
    auto made = make(answer);
    check(answer);
    return made;
}
#endif

} // namespace detail

/* A sending side of a queue or lane for items. */
template <class T> class producer {
    static_assert(std::is_trivially_copyable_v<T>, "items are copied as bytes");

public:
    producer() noexcept = default;
    explicit producer(corelane_producer *handle) noexcept : handle_(handle) {}

    /* Whether there is room for the item now. */
    bool try_push(const T &item) noexcept { return push_within(item, 0) == status::ok; }

    /* Waits for room. False if all consumers are gone. */
    bool push(const T &item) noexcept { return push_within(item, CORELANE_FOREVER) == status::ok; }

    template <class Rep, class Period>
    status push_for(const T &item, std::chrono::duration<Rep, Period> time) noexcept
    {
        return push_within(item, detail::nanoseconds(time));
    }

    /* Pushes the items that fit, and returns their number. */
    std::size_t try_push_many(const T *items, std::size_t n) noexcept
    {
        return corelane_push_many(handle_.get(), items, n, 0);
    }

    /* Waits until all are in, or all consumers are gone. */
    std::size_t push_many(const T *items, std::size_t n) noexcept
    {
        return corelane_push_many(handle_.get(), items, n, CORELANE_FOREVER);
    }

    template <class Range, class = decltype(std::data(std::declval<const Range &>()))>
    std::size_t push_many(const Range &items) noexcept
    {
        return push_many(std::data(items), std::size(items));
    }

    /* Up to `n` free slots. Write items there, and publish them. */
    span<T> lend(std::size_t n) noexcept
    {
        void *slots = nullptr;
        if (corelane_lend(handle_.get(), &slots, &n) != CORELANE_STATUS_OK)
            return {};
        return {static_cast<T *>(slots), n};
    }

    bool publish(std::size_t n) noexcept
    {
        return corelane_publish(handle_.get(), n) == CORELANE_STATUS_OK;
    }

    /* One more handle of this side; without one if the queue is for one producer. */
    producer clone() noexcept { return producer(corelane_producer_clone(handle_.get())); }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    std::size_t capacity() const noexcept { return corelane_producer_capacity(handle_.get()); }
    std::size_t size() const noexcept { return corelane_producer_len(handle_.get()); }
    bool is_closed() const noexcept { return corelane_producer_is_closed(handle_.get()); }
    std::uint64_t position() const noexcept { return corelane_producer_position(handle_.get()); }
    corelane_peer peer() const noexcept { return corelane_producer_peer(handle_.get()); }
    void close() noexcept { handle_.reset(); }

    template <class Rep, class Period>
    bool wait_for_peer(std::chrono::duration<Rep, Period> time) const noexcept
    {
        return corelane_producer_wait_for_peer(handle_.get(), detail::nanoseconds(time));
    }

    void set_strategy(strategy how) noexcept
    {
        corelane_producer_strategy(handle_.get(), static_cast<corelane_strategy>(how));
    }

private:
    status push_within(const T &item, std::int64_t timeout) noexcept
    {
        return static_cast<status>(corelane_push(handle_.get(), &item, timeout));
    }

    detail::owned<corelane_producer, corelane_producer_close> handle_;
};

/* A receiving side of a queue or lane for items. A range of all items until the producers are
 * gone. */
template <class T> class consumer {
    static_assert(std::is_trivially_copyable_v<T>, "items are copied as bytes");

public:
    consumer() noexcept = default;
    explicit consumer(corelane_consumer *handle) noexcept : handle_(handle) {}

    std::optional<T> try_pop() noexcept { return pop_within(0); }

    /* Waits for an item. Nothing if there is none and all producers are gone. */
    std::optional<T> pop() noexcept { return pop_within(CORELANE_FOREVER); }

    template <class Rep, class Period>
    std::optional<T> pop_for(std::chrono::duration<Rep, Period> time) noexcept
    {
        return pop_within(detail::nanoseconds(time));
    }

    /* Copies up to `n` items that are there, and returns their number. */
    std::size_t try_pop_many(T *into, std::size_t n) noexcept
    {
        return corelane_pop_many(handle_.get(), into, n, 0);
    }

    /* Waits for the first of up to `n` items. 0 if all producers are gone. */
    std::size_t pop_many(T *into, std::size_t n) noexcept
    {
        return corelane_pop_many(handle_.get(), into, n, CORELANE_FOREVER);
    }

    /* Up to `n` items in place. Release those that are done with. */
    span<T> peek(std::size_t n) noexcept
    {
        void *items = nullptr;
        if (corelane_peek(handle_.get(), &items, &n) != CORELANE_STATUS_OK)
            return {};
        return {static_cast<T *>(items), n};
    }

    bool release(std::size_t n) noexcept
    {
        return corelane_release(handle_.get(), n) == CORELANE_STATUS_OK;
    }

    /* One more handle of this side; without one if the queue is for one consumer. */
    consumer clone() noexcept { return consumer(corelane_consumer_clone(handle_.get())); }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    std::size_t capacity() const noexcept { return corelane_consumer_capacity(handle_.get()); }
    std::size_t size() const noexcept { return corelane_consumer_len(handle_.get()); }
    bool is_closed() const noexcept { return corelane_consumer_is_closed(handle_.get()); }
    std::uint64_t position() const noexcept { return corelane_consumer_position(handle_.get()); }
    std::uint64_t lost() const noexcept { return corelane_lost(handle_.get()); }
    corelane_peer peer() const noexcept { return corelane_consumer_peer(handle_.get()); }
    void close() noexcept { handle_.reset(); }

    template <class Rep, class Period>
    bool wait_for_peer(std::chrono::duration<Rep, Period> time) const noexcept
    {
        return corelane_consumer_wait_for_peer(handle_.get(), detail::nanoseconds(time));
    }

    void set_strategy(strategy how) noexcept
    {
        corelane_consumer_strategy(handle_.get(), static_cast<corelane_strategy>(how));
    }

    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T *;
        using reference = const T &;

        iterator() noexcept = default;
        explicit iterator(consumer *from) noexcept : from_(from), item_(from->pop()) {}

        reference operator*() const noexcept { return *item_; }
        pointer operator->() const noexcept { return &*item_; }

        iterator &operator++() noexcept
        {
            item_ = from_->pop();
            return *this;
        }

        void operator++(int) noexcept { ++*this; }

        friend bool operator==(const iterator &a, const iterator &b) noexcept
        {
            return a.item_.has_value() == b.item_.has_value();
        }

        friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

    private:
        consumer *from_ = nullptr;
        std::optional<T> item_;
    };

    iterator begin() noexcept { return iterator(this); }
    iterator end() noexcept { return {}; }

private:
    std::optional<T> pop_within(std::int64_t timeout) noexcept
    {
        detail::place<T> item;
        if (corelane_pop(handle_.get(), item.get(), timeout) != CORELANE_STATUS_OK)
            return std::nullopt;
        return *item.get();
    }

    detail::owned<corelane_consumer, corelane_consumer_close> handle_;
};

/* Both sides of a queue between threads. */
template <class T> struct queue {
    producer<T> tx;
    consumer<T> rx;
};

/* Makes a queue for at least `capacity` items. Doesn't throw. */
template <class T>
queue<T> make(corelane_kind kind, std::size_t capacity, status &answer) noexcept
{
    corelane_producer *tx = nullptr;
    corelane_consumer *rx = nullptr;
    answer = static_cast<status>(corelane_create(kind, capacity, sizeof(T), &tx, &rx));
    return {producer<T>(tx), consumer<T>(rx)};
}

#ifdef CORELANE_EXCEPTIONS
template <class T> queue<T> make(corelane_kind kind, std::size_t capacity)
{
    return detail::checked([&](status &answer) { return make<T>(kind, capacity, answer); });
}

/* Between one producer and one consumer. */
template <class T> queue<T> one_to_one(std::size_t capacity)
{
    return make<T>(CORELANE_KIND_ONE_TO_ONE, capacity);
}

/* As `one_to_one`, with slots that are written and read in place. */
template <class T> queue<T> in_place(std::size_t capacity)
{
    return make<T>(CORELANE_KIND_IN_PLACE, capacity);
}

/* Between any number of producers and consumers: clone them. */
template <class T> queue<T> several(std::size_t capacity)
{
    return make<T>(CORELANE_KIND_SEVERAL, capacity);
}

/* A push overwrites the oldest item where there is no room. */
template <class T> queue<T> overwriting(std::size_t capacity)
{
    return make<T>(CORELANE_KIND_OVERWRITING, capacity);
}
#endif

/* A sending side of a queue or lane for byte records. */
class record_producer {
public:
    record_producer() noexcept = default;
    explicit record_producer(corelane_record_producer *handle) noexcept : handle_(handle) {}

    status try_push(std::string_view bytes) noexcept { return push_within(bytes, 0); }

    /* Waits for room. */
    status push(std::string_view bytes) noexcept { return push_within(bytes, CORELANE_FOREVER); }

    /* Room for a record of up to `len` bytes, to be written and committed. Waits for it. Empty if
     * all consumers are gone, or no record may be that long. */
    span<std::byte> claim(std::size_t len) noexcept
    {
        void *room = nullptr;
        if (corelane_record_claim(handle_.get(), len, &room, CORELANE_FOREVER) != CORELANE_STATUS_OK)
            return {};
        return {static_cast<std::byte *>(room), len};
    }

    bool commit(std::size_t len) noexcept
    {
        return corelane_record_commit(handle_.get(), len) == CORELANE_STATUS_OK;
    }

    record_producer clone() noexcept
    {
        return record_producer(corelane_record_producer_clone(handle_.get()));
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    std::size_t max_len() const noexcept { return corelane_record_max_len(handle_.get()); }
    bool is_closed() const noexcept { return corelane_record_producer_is_closed(handle_.get()); }
    std::uint64_t position() const noexcept { return corelane_record_producer_position(handle_.get()); }
    corelane_peer peer() const noexcept { return corelane_record_producer_peer(handle_.get()); }
    void close() noexcept { handle_.reset(); }

    template <class Rep, class Period>
    bool wait_for_peer(std::chrono::duration<Rep, Period> time) const noexcept
    {
        return corelane_record_producer_wait_for_peer(handle_.get(), detail::nanoseconds(time));
    }

private:
    status push_within(std::string_view bytes, std::int64_t timeout) noexcept
    {
        return static_cast<status>(
            corelane_record_push(handle_.get(), bytes.data(), bytes.size(), timeout));
    }

    detail::owned<corelane_record_producer, corelane_record_producer_close> handle_;
};

/* A receiving side of a queue or lane for byte records. */
class record_consumer {
public:
    record_consumer() noexcept = default;
    explicit record_consumer(corelane_record_consumer *handle) noexcept : handle_(handle) {}

    /* The oldest record in place, until `release` or the next call. Nothing if there is none. */
    std::optional<span<const std::byte>> try_peek() noexcept { return peek_within(0); }

    /* As `try_peek`. Waits for a record. Nothing if all producers are gone. */
    std::optional<span<const std::byte>> peek() noexcept { return peek_within(CORELANE_FOREVER); }

    bool release() noexcept
    {
        return corelane_record_release(handle_.get()) == CORELANE_STATUS_OK;
    }

    record_consumer clone() noexcept
    {
        return record_consumer(corelane_record_consumer_clone(handle_.get()));
    }

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    bool is_closed() const noexcept { return corelane_record_consumer_is_closed(handle_.get()); }
    std::uint64_t position() const noexcept { return corelane_record_consumer_position(handle_.get()); }
    corelane_peer peer() const noexcept { return corelane_record_consumer_peer(handle_.get()); }
    void close() noexcept { handle_.reset(); }

    template <class Rep, class Period>
    bool wait_for_peer(std::chrono::duration<Rep, Period> time) const noexcept
    {
        return corelane_record_consumer_wait_for_peer(handle_.get(), detail::nanoseconds(time));
    }

private:
    std::optional<span<const std::byte>> peek_within(std::int64_t timeout) noexcept
    {
        const void *bytes = nullptr;
        std::size_t len = 0;
        if (corelane_record_peek(handle_.get(), &bytes, &len, timeout) != CORELANE_STATUS_OK)
            return std::nullopt;
        return span<const std::byte>(static_cast<const std::byte *>(bytes), len);
    }

    detail::owned<corelane_record_consumer, corelane_record_consumer_close> handle_;
};

/* Both sides of a queue for byte records between threads. */
struct records {
    record_producer tx;
    record_consumer rx;
};

/* Makes a queue for at least `capacity` bytes of records. Doesn't throw. */
inline records make_records(bool several, std::size_t capacity, status &answer) noexcept
{
    corelane_record_producer *tx = nullptr;
    corelane_record_consumer *rx = nullptr;
    answer = static_cast<status>(corelane_records_create(several, capacity, &tx, &rx));
    return {record_producer(tx), record_consumer(rx)};
}

#ifdef CORELANE_EXCEPTIONS
inline records make_records(bool several, std::size_t capacity)
{
    return detail::checked([&](status &answer) { return make_records(several, capacity, answer); });
}
#endif

/* A queue in memory that processes share. `corelane::carry` says what it carries. */
class lane {
public:
    lane() noexcept = default;

    static lane create(const corelane_carried &what, std::size_t capacity, status &answer) noexcept
    {
        return lane(answer, [&](corelane_lane **to) { return corelane_lane_create(&what, capacity, to); });
    }

    /* The descriptor stays the caller's. */
    static lane open(const corelane_carried &what, int descriptor, status &answer) noexcept
    {
        return lane(answer, [&](corelane_lane **to) { return corelane_lane_open(&what, descriptor, to); });
    }

    static lane connect(const corelane_carried &what, const char *path, status &answer) noexcept
    {
        return lane(answer, [&](corelane_lane **to) { return corelane_lane_connect(&what, path, to); });
    }

    template <class T> corelane::producer<T> producer(status &answer) noexcept
    {
        corelane_producer *side = nullptr;
        answer = static_cast<status>(corelane_lane_producer(lane_.get(), &side));
        return corelane::producer<T>(side);
    }

    template <class T> corelane::consumer<T> consumer(status &answer) noexcept
    {
        corelane_consumer *side = nullptr;
        answer = static_cast<status>(corelane_lane_consumer(lane_.get(), &side));
        return corelane::consumer<T>(side);
    }

    corelane::record_producer record_producer(status &answer) noexcept
    {
        corelane_record_producer *side = nullptr;
        answer = static_cast<status>(corelane_lane_record_producer(lane_.get(), &side));
        return corelane::record_producer(side);
    }

    corelane::record_consumer record_consumer(status &answer) noexcept
    {
        corelane_record_consumer *side = nullptr;
        answer = static_cast<status>(corelane_lane_record_consumer(lane_.get(), &side));
        return corelane::record_consumer(side);
    }

#ifdef CORELANE_EXCEPTIONS
    static lane create(const corelane_carried &what, std::size_t capacity)
    {
        return detail::checked([&](status &answer) { return create(what, capacity, answer); });
    }

    static lane open(const corelane_carried &what, int descriptor)
    {
        return detail::checked([&](status &answer) { return open(what, descriptor, answer); });
    }

    static lane connect(const corelane_carried &what, const char *path)
    {
        return detail::checked([&](status &answer) { return connect(what, path, answer); });
    }

    template <class T> corelane::producer<T> producer()
    {
        return detail::checked([&](status &answer) { return producer<T>(answer); });
    }

    template <class T> corelane::consumer<T> consumer()
    {
        return detail::checked([&](status &answer) { return consumer<T>(answer); });
    }

    corelane::record_producer record_producer()
    {
        return detail::checked([&](status &answer) { return record_producer(answer); });
    }

    corelane::record_consumer record_consumer()
    {
        return detail::checked([&](status &answer) { return record_consumer(answer); });
    }
#endif

    /* A descriptor for a child process. The caller closes it after `fork`. */
    int descriptor() const noexcept { return corelane_lane_descriptor(lane_.get()); }
    const corelane_lane *get() const noexcept { return lane_.get(); }
    explicit operator bool() const noexcept { return lane_ != nullptr; }

private:
    template <class Make> lane(status &answer, Make make) noexcept
    {
        corelane_lane *made = nullptr;
        answer = static_cast<status>(make(&made));
        lane_.reset(made);
    }

    detail::owned<corelane_lane, corelane_lane_close> lane_;
};

/* Items of type T, which the program on the other side calls `name`. `most`: the number of producers
 * of a lane for several. */
template <class T>
corelane_carried carry(const char *name, corelane_lane_kind kind = CORELANE_LANE_KIND_ONE_TO_ONE,
                       std::size_t most = 0) noexcept
{
    static_assert(std::is_trivially_copyable_v<T>, "items are copied as bytes");
    return {kind, name, sizeof(T), alignof(T), most};
}

/* Byte records of up to `longest` bytes, or a quarter of the capacity. */
inline corelane_carried carry_records(std::size_t longest = 0) noexcept
{
    return {CORELANE_LANE_KIND_RECORDS, nullptr, 0, 0, longest};
}

/* A thief's handle of a queue from which others steal. */
template <class T> class stealer {
public:
    stealer() noexcept = default;
    explicit stealer(corelane_stealer *handle) noexcept : handle_(handle) {}

    /* Steals up to `n` items, and returns their number. */
    std::size_t steal(T *into, std::size_t n) noexcept
    {
        corelane_steal(handle_.get(), into, &n);
        return n;
    }

    stealer clone() noexcept { return stealer(corelane_stealer_clone(handle_.get())); }

private:
    detail::owned<corelane_stealer, corelane_stealer_close> handle_;
};

/* The owner's handle of a queue from which others steal. */
template <class T> class worker {
    static_assert(std::is_trivially_copyable_v<T>, "items are copied as bytes");

public:
    worker(corelane_order order, std::size_t capacity, status &answer) noexcept
    {
        corelane_worker *made = nullptr;
        answer = static_cast<status>(corelane_worker_create(order, capacity, sizeof(T), &made));
        handle_.reset(made);
    }

#ifdef CORELANE_EXCEPTIONS
    worker(corelane_order order, std::size_t capacity)
    {
        corelane_worker *made = nullptr;
        detail::check(static_cast<status>(
            corelane_worker_create(order, capacity, sizeof(T), &made)));
        handle_.reset(made);
    }
#endif

    bool push(const T &item) noexcept
    {
        return corelane_worker_push(handle_.get(), &item) == CORELANE_STATUS_OK;
    }

    std::optional<T> pop() noexcept
    {
        detail::place<T> item;
        if (corelane_worker_pop(handle_.get(), item.get()) != CORELANE_STATUS_OK)
            return std::nullopt;
        return *item.get();
    }

    corelane::stealer<T> stealer() noexcept
    {
        return corelane::stealer<T>(corelane_worker_stealer(handle_.get()));
    }

private:
    detail::owned<corelane_worker, corelane_worker_close> handle_;
};

} // namespace corelane

#endif
