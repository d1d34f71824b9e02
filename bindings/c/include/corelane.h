/* corelane: concurrent queues between threads and processes.
 *
 * Handles. A thread uses a queue through a handle, which belongs to one thread at a time. It may be
 * given to another thread in any way that makes this thread's writes visible to the other one, such
 * as a mutex or pthread_create. A close sets the caller's pointer to NULL, so a second close does
 * nothing. NULL instead of a handle is answered, and does no harm.
 *
 * Items are bytes that the queue copies. It never looks into them, and frees nothing that they point
 * to.
 *
 * Timeouts are nanoseconds: 0 doesn't wait, CORELANE_FOREVER has no limit.
 *
 * What ends the process: more than 65,536 handles of a side, and no memory for a handle, which takes
 * less than a kilobyte. No exception and no longjmp leaves a call.
 *
 * Written by cbindgen: change the functions in src instead. */


#ifndef CORELANE_H
#define CORELANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of these calls. It changes when a program that was built with an older header can't
// use this library any more: compare it with `corelane_abi_version()`.
#define CORELANE_ABI_VERSION 1

// As a timeout: the call waits for as long as it takes.
#define CORELANE_FOREVER -1

// What a call answers.
typedef enum {
  // The call has done its work.
  CORELANE_STATUS_OK = 0,
  // There is no room, or there was none until the time was over.
  CORELANE_STATUS_FULL = 1,
  // There is no item, or there was none until the time was over.
  CORELANE_STATUS_EMPTY = 2,
  // An unfinished call of another thread is in the way: try again soon.
  CORELANE_STATUS_BUSY = 3,
  // There is no room or no item, and all handles of the other side are closed.
  CORELANE_STATUS_CLOSED = 4,
  // An argument is NULL, out of range, or not possible with this queue.
  CORELANE_STATUS_INVALID = 5,
  // There is not enough memory.
  CORELANE_STATUS_NO_MEMORY = 6,
  // A record is longer than the queue allows.
  CORELANE_STATUS_TOO_LARGE = 7,
  // The system has refused a call, or there is no such process or file.
  CORELANE_STATUS_SYSTEM = 8,
  // The descriptor is not that of a lane.
  CORELANE_STATUS_NOT_A_LANE = 9,
  // The lane was made for other items, or by another version.
  CORELANE_STATUS_DIFFERS = 10,
  // A live process has this side of the lane.
  CORELANE_STATUS_TAKEN = 11,
  // The process that listens gives this process no lane.
  CORELANE_STATUS_REFUSED = 12,
  // The memory of the lane is damaged.
  CORELANE_STATUS_CORRUPT = 13,
} corelane_status;

// How a call waits.
typedef enum {
  // Looks and yields for some microseconds, less if that has failed lately, and then sleeps.
  CORELANE_STRATEGY_ADAPTIVE = 0,
  // Looks all the time. It takes a whole core.
  CORELANE_STRATEGY_SPIN = 1,
  // Yields before each look. It takes a core that no other thread wants.
  CORELANE_STRATEGY_YIELD = 2,
  // Sleeps at once.
  CORELANE_STRATEGY_SLEEP = 3,
} corelane_strategy;

// The processes on the other side of a lane.
typedef enum {
  // No process has taken that side yet.
  CORELANE_PEER_ABSENT = 0,
  // A process has it.
  CORELANE_PEER_ALIVE = 1,
  // The last such process has closed its handle.
  CORELANE_PEER_LEFT = 2,
  // The last such process ended without that, or was killed.
  CORELANE_PEER_DIED = 3,
  // The handle is that of a queue between threads.
  CORELANE_PEER_THREADS = 4,
} corelane_peer;

// The kind of a lane.
typedef enum {
  // Items between one producer and one consumer.
  CORELANE_LANE_KIND_ONE_TO_ONE = 0,
  // Items between several producers and any number of consumers.
  CORELANE_LANE_KIND_SEVERAL = 1,
  // Items of one producer, each of which all consumers get.
  CORELANE_LANE_KIND_BROADCAST = 2,
  // Byte records between one producer and one consumer.
  CORELANE_LANE_KIND_RECORDS = 3,
} corelane_lane_kind;

// The kind of a queue between threads.
typedef enum {
  // Between one producer and one consumer: `linering`. The fastest if items come one by one.
  CORELANE_KIND_ONE_TO_ONE = 0,
  // Between one producer and one consumer, whose slots are written and read in place: `blq`.
  CORELANE_KIND_IN_PLACE = 1,
  // Between any number of producers and consumers: `leased`.
  CORELANE_KIND_SEVERAL = 2,
  // As `SEVERAL`: `bbq`, the block-based queue. First in first out among all threads.
  CORELANE_KIND_BLOCKS = 3,
  // A push never waits: it overwrites the oldest item. Any number of producers and consumers, and
  // each item goes to one consumer: `seqring`.
  CORELANE_KIND_OVERWRITING = 4,
} corelane_kind;

// Which item the owner pops. Thieves always steal the oldest.
typedef enum {
  // The newest.
  CORELANE_ORDER_LIFO = 0,
  // The oldest.
  CORELANE_ORDER_FIFO = 1,
} corelane_order;

// A receiving handle of a queue or lane for items. It belongs to one thread at a time.
typedef struct corelane_consumer corelane_consumer;

// A lane: a queue in memory that processes share, whatever their languages. Take its sides by
// `corelane_lane_producer` and `corelane_lane_consumer`. A process that is killed gives its side
// back, and the next one continues there. Threads may share this handle.
typedef struct corelane_lane corelane_lane;

// A socket at which processes ask for a lane.
typedef struct corelane_listener corelane_listener;

// A sending handle of a queue or lane for items. A thread uses a queue by its own handle: a handle
// belongs to one thread at a time.
typedef struct corelane_producer corelane_producer;

// A receiving handle of a queue or lane for byte records. It belongs to one thread at a time.
typedef struct corelane_record_consumer corelane_record_consumer;

// A sending handle of a queue or lane for byte records. It belongs to one thread at a time.
typedef struct corelane_record_producer corelane_record_producer;

// A thief's handle. It belongs to one thread at a time.
typedef struct corelane_stealer corelane_stealer;

// The owner's handle of a queue from which other threads steal. It belongs to one thread at a
// time.
typedef struct corelane_worker corelane_worker;

// What a lane carries. Both processes describe it in the same way, or the lane isn't opened.
typedef struct {
  // The kind.
  corelane_lane_kind kind;
  // The name of the item's type, as in the program in another language: "Tick" for Rust's struct
  // `Tick`, "u64" for a number. Not used for records.
  const char *name;
  // Bytes of an item: 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 96, 128, 256, 512 or 1024.
  // Not used for records.
  size_t item_size;
  // The alignment of an item, at most 8. Not used for records.
  size_t item_align;
  // Of `SEVERAL`: the number of producers that there may be at a time. Of `RECORDS`: bytes of the
  // longest record. 0: 16 producers, or a quarter of the capacity. Not used to open a lane.
  size_t most;
} corelane_carried;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Appends a copy of the item at `item`. While there is no room, waits for at most `timeout`
// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
//
// OK; FULL; BUSY, only without waiting; CLOSED; INVALID.
//
// # Safety
//
// An item can be read at `item`.
corelane_status corelane_push(corelane_producer *producer, const void *item, int64_t timeout);

// Appends copies of the first of `n` items, and returns their number. Items of other producers
// may come between them. Waits as `corelane_push` until all are in.
//
// Less than `n`: there is no room, the time is over, or the queue is closed; `corelane_push` says
// which. 0 if an argument is NULL.
//
// # Safety
//
// `n` items can be read at `items`, each behind the other.
size_t corelane_push_many(corelane_producer *producer,
                          const void *items,
                          size_t n,
                          int64_t timeout);

// Lends free slots in a row: up to `n`, which this call changes to their number. Write items there,
// and publish them. Any other call of the handle ends the loan, and nothing is pushed.
//
// Only one-to-one queues and lanes lend slots, for items of 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48,
// 56, 64, 96, 128, 256, 512 or 1024 bytes. Without OK, `n` is 0 and `slots` isn't written.
//
// OK; FULL; CLOSED; INVALID.
//
// # Safety
//
// `slots` and `n` are NULL, or valid.
corelane_status corelane_lend(corelane_producer *producer, void **slots, size_t *n);

// Pushes the items in the first `n` lent slots.
//
// OK; INVALID, also if fewer slots are lent.
corelane_status corelane_publish(corelane_producer *producer, size_t n);

// Removes the oldest item, and copies it to `into`. While there is none, waits for at most `timeout`
// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
//
// OK; EMPTY; BUSY, only without waiting; CLOSED; INVALID. Without OK, `into` is not written.
//
// # Safety
//
// An item may be written at `into`.
corelane_status corelane_pop(corelane_consumer *consumer,
                             void *into,
                             int64_t timeout);

// Removes up to `n` of the oldest items, copies them to `into`, and returns their number. Waits as
// `corelane_pop` for the first one only.
//
// 0: there is no item, the time is over, the queue is closed, or an argument is NULL;
// `corelane_pop` says which.
//
// # Safety
//
// `n` items may be written at `into`.
size_t corelane_pop_many(corelane_consumer *consumer, void *into, size_t n, int64_t timeout);

// Lends the oldest items in a row, in place: up to `n`, which this call changes to their number.
// Release those that are done with. Any other call of the handle ends the loan, and the items stay
// in the queue. For the queues that lend slots: see `corelane_lend`.
//
// OK; EMPTY; CLOSED; INVALID.
//
// # Safety
//
// `items` and `n` are NULL, or valid.
corelane_status corelane_peek(corelane_consumer *consumer, void **items, size_t *n);

// Removes the first `n` lent items.
//
// OK; INVALID, also if fewer items are lent.
corelane_status corelane_release(corelane_consumer *consumer, size_t n);

// Number of items that this consumer found overwritten. 0 of other queues, and of NULL.
uint64_t corelane_lost(corelane_consumer *consumer);

// One more handle of the same side. NULL if the side may have no more handles, as those of
// one-to-one queues and of lanes: a lane's side is taken by `corelane_lane_producer` and
// `corelane_lane_consumer`. NULL of NULL. It may be called while other threads use handles
// of their own.
corelane_producer *corelane_producer_clone(corelane_producer *handle);

// Closes a handle, and sets the pointer to NULL: a second close does nothing. The last
// handle frees the queue. When all handles of a side are closed, the other side finds the
// queue closed.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_producer_close(corelane_producer **handle);

// Number of items for which there is always room: as asked, or a little more. 0 of NULL.
size_t corelane_producer_capacity(corelane_producer *handle);

// Number of items in the queue, as far as this handle sees. 0 of NULL.
size_t corelane_producer_len(corelane_producer *handle);

// Number of items that were pushed since the lane was made, by all processes that have had this
// side: where a process goes on that takes it over. 0 of lanes with several producers, of queues
// between threads, and of NULL.
uint64_t corelane_producer_position(corelane_producer *handle);

// Bytes of an item. 0 of NULL.
size_t corelane_producer_item_size(corelane_producer *handle);

// Whether all handles of the other side are closed. What they did before is visible then.
// True of NULL.
bool corelane_producer_is_closed(corelane_producer *handle);

// Chooses how this handle's calls wait.
//
// OK; INVALID.
corelane_status corelane_producer_strategy(corelane_producer *handle, corelane_strategy how);

// Checks the process on the other side of a lane. If all processes that had it are dead,
// the side is closed from now on.
corelane_peer corelane_producer_peer(corelane_producer *handle);

// Waits until a process has the other side of a lane, for at most `timeout` nanoseconds, or
// `CORELANE_FOREVER`. Whether one has come.
bool corelane_producer_wait_for_peer(corelane_producer *handle, int64_t timeout);

// One more handle of the same side. NULL if the side may have no more handles, as those of
// one-to-one queues and of lanes: a lane's side is taken by `corelane_lane_producer` and
// `corelane_lane_consumer`. NULL of NULL. It may be called while other threads use handles
// of their own.
corelane_consumer *corelane_consumer_clone(corelane_consumer *handle);

// Closes a handle, and sets the pointer to NULL: a second close does nothing. The last
// handle frees the queue. When all handles of a side are closed, the other side finds the
// queue closed.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_consumer_close(corelane_consumer **handle);

// Number of items for which there is always room: as asked, or a little more. 0 of NULL.
size_t corelane_consumer_capacity(corelane_consumer *handle);

// Number of items in the queue, as far as this handle sees. 0 of NULL.
size_t corelane_consumer_len(corelane_consumer *handle);

// Number of items that were popped since the lane was made, by all processes that have had this
// side: where a process goes on that takes it over. 0 of lanes with several producers, of queues
// between threads, and of NULL.
uint64_t corelane_consumer_position(corelane_consumer *handle);

// Bytes of an item. 0 of NULL.
size_t corelane_consumer_item_size(corelane_consumer *handle);

// Whether all handles of the other side are closed. What they did before is visible then.
// True of NULL.
bool corelane_consumer_is_closed(corelane_consumer *handle);

// Chooses how this handle's calls wait.
//
// OK; INVALID.
corelane_status corelane_consumer_strategy(corelane_consumer *handle, corelane_strategy how);

// Checks the process on the other side of a lane. If all processes that had it are dead,
// the side is closed from now on.
corelane_peer corelane_consumer_peer(corelane_consumer *handle);

// Waits until a process has the other side of a lane, for at most `timeout` nanoseconds, or
// `CORELANE_FOREVER`. Whether one has come.
bool corelane_consumer_wait_for_peer(corelane_consumer *handle, int64_t timeout);

// Makes a lane for at least `capacity` items, or bytes of records. It has no name in any file
// system, and vanishes with the last process that has it.
//
// OK; INVALID; NO_MEMORY; SYSTEM. `corelane_last_error` says why.
//
// # Safety
//
// `what` is NULL, or has a name that is NULL or a string, and `lane` is NULL or may be written.
corelane_status corelane_lane_create(const corelane_carried *what,
                                     size_t capacity,
                                     corelane_lane **lane);

// Opens a lane that another process has made, by a descriptor that this process has inherited or
// got through a socket. The descriptor stays open, and is the caller's.
//
// OK; INVALID; NOT_A_LANE; DIFFERS; CORRUPT; SYSTEM.
//
// # Safety
//
// As `corelane_lane_create`.
corelane_status corelane_lane_open(const corelane_carried *what,
                                   int descriptor,
                                   corelane_lane **lane);

// Asks the process that listens at this path for a lane: see `corelane_listener_create`. Waits for
// its answer.
//
// As `corelane_lane_open`; REFUSED.
//
// # Safety
//
// As `corelane_lane_create`; `path` is NULL or a string.
corelane_status corelane_lane_connect(const corelane_carried *what,
                                      const char *path,
                                      corelane_lane **lane);

// A descriptor of the lane that programs inherit which this process executes. A child opens it by
// `corelane_lane_open`. The caller closes it, after `fork`. Less than 0: there is none.
int corelane_lane_descriptor(const corelane_lane *lane);

// Takes a sending side of a lane for items. It may outlive the lane's handle.
//
// OK; TAKEN, if live processes have all; CORRUPT; INVALID, also of a lane for records.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_producer(const corelane_lane *lane, corelane_producer **handle);

// Takes a receiving side of a lane for items: see `corelane_lane_producer`.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_consumer(const corelane_lane *lane, corelane_consumer **handle);

// Takes the sending side of a lane for records: see `corelane_lane_producer`.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_record_producer(const corelane_lane *lane,
                                              corelane_record_producer **handle);

// Takes the receiving side of a lane for records: see `corelane_lane_producer`.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_record_consumer(const corelane_lane *lane,
                                              corelane_record_consumer **handle);

// Closes the lane's handle, and sets the pointer to NULL. Sides that were taken go on.
//
// # Safety
//
// NULL, or where the only pointer to a lane is, or NULL.
void corelane_lane_close(corelane_lane **lane);

// Listens at a path for processes of the same user that ask for a lane. The socket of a killed
// process at this path is replaced.
//
// OK; INVALID; SYSTEM.
//
// # Safety
//
// `path` is NULL or a string, and `listener` is NULL or may be written.
corelane_status corelane_listener_create(const char *path, corelane_listener **listener);

// Waits for a process that asks for a lane, and gives it this one. Several threads may do so.
//
// OK; INVALID; SYSTEM.
corelane_status corelane_listener_hand_out(const corelane_listener *listener,
                                           const corelane_lane *lane);

// Closes the listener, and sets the pointer to NULL.
//
// # Safety
//
// NULL, or where the only pointer to a listener is, or NULL.
void corelane_listener_close(corelane_listener **listener);

// Makes a queue between threads, for at least `capacity` items of `item_size` bytes, at most 1024,
// and one handle of each side. Items are copied. For larger ones, pass pointers, or use records.
//
// OK; INVALID; NO_MEMORY. Without OK the handles are not written.
//
// # Safety
//
// `producer` and `consumer` are NULL, or may be written. `kind` is one of the kinds.
corelane_status corelane_create(corelane_kind kind,
                                size_t capacity,
                                size_t item_size,
                                corelane_producer **producer,
                                corelane_consumer **consumer);

// Makes a queue between threads for byte records of any length, with room for at least `capacity`
// bytes, and one handle of each side. `several`: any number of producers and consumers; otherwise
// one of each, which is faster.
//
// OK; INVALID; NO_MEMORY. Without OK the handles are not written.
//
// # Safety
//
// `producer` and `consumer` are NULL, or may be written.
corelane_status corelane_records_create(bool several,
                                        size_t capacity,
                                        corelane_record_producer **producer,
                                        corelane_record_consumer **consumer);

// Appends a copy of `len` bytes as a record. While there is no room, waits for at most `timeout`
// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
//
// OK; FULL; BUSY, only without waiting; CLOSED; TOO_LARGE; INVALID.
//
// # Safety
//
// `len` bytes can be read at `bytes`.
corelane_status corelane_record_push(corelane_record_producer *producer,
                                     const void *bytes,
                                     size_t len,
                                     int64_t timeout);

// Lends room for a record of up to `len` bytes, and sets `bytes` to it. Write the record there, and
// commit it. Waits as `corelane_record_push`. Any other call of the handle gives the room up.
//
// OK; FULL; BUSY, only without waiting; CLOSED; TOO_LARGE; INVALID.
//
// # Safety
//
// `bytes` is NULL, or may be written.
corelane_status corelane_record_claim(corelane_record_producer *producer,
                                      size_t len,
                                      void **bytes,
                                      int64_t timeout);

// Appends the first `len` bytes of the claimed room as a record.
//
// OK; INVALID, also if fewer bytes are claimed: then the room is given up.
corelane_status corelane_record_commit(corelane_record_producer *producer, size_t len);

// Length of the longest record, in bytes. 0 of NULL.
size_t corelane_record_max_len(corelane_record_producer *producer);

// Lends the oldest record in place. While there is none, waits for at most `timeout` nanoseconds: 0
// doesn't wait, `CORELANE_FOREVER` has no limit. Release it when done. Any other call of the handle
// that removes records releases it, too.
//
// OK; EMPTY; BUSY, only without waiting; CLOSED; INVALID. Without OK nothing is written.
//
// # Safety
//
// `bytes` and `len` are NULL, or may be written.
corelane_status corelane_record_peek(corelane_record_consumer *consumer,
                                     const void **bytes,
                                     size_t *len,
                                     int64_t timeout);

// Removes the record that is lent.
//
// OK; INVALID, also if none is lent.
corelane_status corelane_record_release(corelane_record_consumer *consumer);

// As `corelane_producer_clone`.
corelane_record_producer *corelane_record_producer_clone(corelane_record_producer *handle);

// As `corelane_producer_close`.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_record_producer_close(corelane_record_producer **handle);

// As `corelane_producer_position`, of records.
uint64_t corelane_record_producer_position(corelane_record_producer *handle);

// As `corelane_producer_is_closed`.
bool corelane_record_producer_is_closed(corelane_record_producer *handle);

// As `corelane_producer_strategy`.
corelane_status corelane_record_producer_strategy(corelane_record_producer *handle,
                                                  corelane_strategy how);

// As `corelane_producer_peer`.
corelane_peer corelane_record_producer_peer(corelane_record_producer *handle);

// As `corelane_producer_wait_for_peer`.
bool corelane_record_producer_wait_for_peer(corelane_record_producer *handle, int64_t timeout);

// As `corelane_producer_clone`.
corelane_record_consumer *corelane_record_consumer_clone(corelane_record_consumer *handle);

// As `corelane_producer_close`.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_record_consumer_close(corelane_record_consumer **handle);

// As `corelane_consumer_position`, of records.
uint64_t corelane_record_consumer_position(corelane_record_consumer *handle);

// As `corelane_producer_is_closed`.
bool corelane_record_consumer_is_closed(corelane_record_consumer *handle);

// As `corelane_producer_strategy`.
corelane_status corelane_record_consumer_strategy(corelane_record_consumer *handle,
                                                  corelane_strategy how);

// As `corelane_producer_peer`.
corelane_peer corelane_record_consumer_peer(corelane_record_consumer *handle);

// As `corelane_producer_wait_for_peer`.
bool corelane_record_consumer_wait_for_peer(corelane_record_consumer *handle, int64_t timeout);

// The version of the calls that this library has.
uint32_t corelane_abi_version(void);

// What an answer means, in one line. Never NULL.
//
// # Safety
//
// `status` is an answer of these calls.
const char *corelane_status_text(corelane_status status);

// Why the last call of this thread that makes, opens or takes something has failed, in one line
// that names the mend. NULL if none has. It is valid until the next such failure.
const char *corelane_last_error(void);

// Makes a queue for one owner and thieves: block-based work stealing, for at least `capacity` items
// of `item_size` bytes, at most 1024.
//
// OK; INVALID; NO_MEMORY. Without OK the handle is not written.
//
// # Safety
//
// `worker` is NULL, or may be written. `order` is one of the orders.
corelane_status corelane_worker_create(corelane_order order,
                                       size_t capacity,
                                       size_t item_size,
                                       corelane_worker **worker);

// Pushes a copy of the item at `item`. Only the owner pushes and pops.
//
// OK; FULL; INVALID.
//
// # Safety
//
// An item can be read at `item`.
corelane_status corelane_worker_push(corelane_worker *worker, const void *item);

// Removes the next item in the owner's order, and copies it to `into`.
//
// OK; EMPTY; INVALID.
//
// # Safety
//
// An item may be written at `into`.
corelane_status corelane_worker_pop(corelane_worker *worker, void *into);

// A handle for a thief. NULL of NULL.
corelane_stealer *corelane_worker_stealer(corelane_worker *worker);

// Steals up to `n` of the oldest items in one step, copies them to `into`, and changes `n` to their
// number.
//
// OK; EMPTY; BUSY; CLOSED, when the owner is gone; INVALID. Without OK, `n` is 0.
//
// # Safety
//
// `n` is NULL or valid, and as many items may be written at `into`.
corelane_status corelane_steal(corelane_stealer *stealer, void *into, size_t *n);

// One more handle for a thief. NULL of NULL.
corelane_stealer *corelane_stealer_clone(corelane_stealer *stealer);

// Closes the owner's handle, and sets the pointer to NULL: a second close does nothing. Thieves may
// steal what is left.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_worker_close(corelane_worker **worker);

// Closes a thief's handle, and sets the pointer to NULL.
//
// # Safety
//
// As `corelane_worker_close`.
void corelane_stealer_close(corelane_stealer **stealer);

// The version of the calls that this library has.
uint32_t corelane_abi_version(void);

// What an answer means, in one line. Never NULL.
//
// # Safety
//
// `status` is an answer of these calls.
const char *corelane_status_text(corelane_status status);

// Why the last call of this thread that makes, opens or takes something has failed, in one line
// that names the mend. NULL if none has. It is valid until the next such failure.
const char *corelane_last_error(void);

// Appends a copy of the item at `item`. While there is no room, waits for at most `timeout`
// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
//
// OK; FULL; BUSY, only without waiting; CLOSED; INVALID.
//
// # Safety
//
// An item can be read at `item`.
corelane_status corelane_push(corelane_producer *producer, const void *item, int64_t timeout);

// Appends copies of the first of `n` items, and returns their number. Items of other producers
// may come between them. Waits as `corelane_push` until all are in.
//
// Less than `n`: there is no room, the time is over, or the queue is closed; `corelane_push` says
// which. 0 if an argument is NULL.
//
// # Safety
//
// `n` items can be read at `items`, each behind the other.
size_t corelane_push_many(corelane_producer *producer,
                          const void *items,
                          size_t n,
                          int64_t timeout);

// Lends free slots in a row: up to `n`, which this call changes to their number. Write items there,
// and publish them. Any other call of the handle ends the loan, and nothing is pushed.
//
// Only one-to-one queues and lanes lend slots, for items of 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48,
// 56, 64, 96, 128, 256, 512 or 1024 bytes. Without OK, `n` is 0 and `slots` isn't written.
//
// OK; FULL; CLOSED; INVALID.
//
// # Safety
//
// `slots` and `n` are NULL, or valid.
corelane_status corelane_lend(corelane_producer *producer, void **slots, size_t *n);

// Pushes the items in the first `n` lent slots.
//
// OK; INVALID, also if fewer slots are lent.
corelane_status corelane_publish(corelane_producer *producer, size_t n);

// Removes the oldest item, and copies it to `into`. While there is none, waits for at most `timeout`
// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
//
// OK; EMPTY; BUSY, only without waiting; CLOSED; INVALID. Without OK, `into` is not written.
//
// # Safety
//
// An item may be written at `into`.
corelane_status corelane_pop(corelane_consumer *consumer,
                             void *into,
                             int64_t timeout);

// Removes up to `n` of the oldest items, copies them to `into`, and returns their number. Waits as
// `corelane_pop` for the first one only.
//
// 0: there is no item, the time is over, the queue is closed, or an argument is NULL;
// `corelane_pop` says which.
//
// # Safety
//
// `n` items may be written at `into`.
size_t corelane_pop_many(corelane_consumer *consumer, void *into, size_t n, int64_t timeout);

// Lends the oldest items in a row, in place: up to `n`, which this call changes to their number.
// Release those that are done with. Any other call of the handle ends the loan, and the items stay
// in the queue. For the queues that lend slots: see `corelane_lend`.
//
// OK; EMPTY; CLOSED; INVALID.
//
// # Safety
//
// `items` and `n` are NULL, or valid.
corelane_status corelane_peek(corelane_consumer *consumer, void **items, size_t *n);

// Removes the first `n` lent items.
//
// OK; INVALID, also if fewer items are lent.
corelane_status corelane_release(corelane_consumer *consumer, size_t n);

// Number of items that this consumer found overwritten. 0 of other queues, and of NULL.
uint64_t corelane_lost(corelane_consumer *consumer);

// One more handle of the same side. NULL if the side may have no more handles, as those of
// one-to-one queues and of lanes: a lane's side is taken by `corelane_lane_producer` and
// `corelane_lane_consumer`. NULL of NULL. It may be called while other threads use handles
// of their own.
corelane_producer *corelane_producer_clone(corelane_producer *handle);

// Closes a handle, and sets the pointer to NULL: a second close does nothing. The last
// handle frees the queue. When all handles of a side are closed, the other side finds the
// queue closed.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_producer_close(corelane_producer **handle);

// Number of items for which there is always room: as asked, or a little more. 0 of NULL.
size_t corelane_producer_capacity(corelane_producer *handle);

// Number of items in the queue, as far as this handle sees. 0 of NULL.
size_t corelane_producer_len(corelane_producer *handle);

// Number of items that were pushed since the lane was made, by all processes that have had this
// side: where a process goes on that takes it over. 0 of lanes with several producers, of queues
// between threads, and of NULL.
uint64_t corelane_producer_position(corelane_producer *handle);

// Bytes of an item. 0 of NULL.
size_t corelane_producer_item_size(corelane_producer *handle);

// Whether all handles of the other side are closed. What they did before is visible then.
// True of NULL.
bool corelane_producer_is_closed(corelane_producer *handle);

// Chooses how this handle's calls wait.
//
// OK; INVALID.
corelane_status corelane_producer_strategy(corelane_producer *handle, corelane_strategy how);

// Checks the process on the other side of a lane. If all processes that had it are dead,
// the side is closed from now on.
corelane_peer corelane_producer_peer(corelane_producer *handle);

// Waits until a process has the other side of a lane, for at most `timeout` nanoseconds, or
// `CORELANE_FOREVER`. Whether one has come.
bool corelane_producer_wait_for_peer(corelane_producer *handle, int64_t timeout);

// One more handle of the same side. NULL if the side may have no more handles, as those of
// one-to-one queues and of lanes: a lane's side is taken by `corelane_lane_producer` and
// `corelane_lane_consumer`. NULL of NULL. It may be called while other threads use handles
// of their own.
corelane_consumer *corelane_consumer_clone(corelane_consumer *handle);

// Closes a handle, and sets the pointer to NULL: a second close does nothing. The last
// handle frees the queue. When all handles of a side are closed, the other side finds the
// queue closed.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_consumer_close(corelane_consumer **handle);

// Number of items for which there is always room: as asked, or a little more. 0 of NULL.
size_t corelane_consumer_capacity(corelane_consumer *handle);

// Number of items in the queue, as far as this handle sees. 0 of NULL.
size_t corelane_consumer_len(corelane_consumer *handle);

// Number of items that were popped since the lane was made, by all processes that have had this
// side: where a process goes on that takes it over. 0 of lanes with several producers, of queues
// between threads, and of NULL.
uint64_t corelane_consumer_position(corelane_consumer *handle);

// Bytes of an item. 0 of NULL.
size_t corelane_consumer_item_size(corelane_consumer *handle);

// Whether all handles of the other side are closed. What they did before is visible then.
// True of NULL.
bool corelane_consumer_is_closed(corelane_consumer *handle);

// Chooses how this handle's calls wait.
//
// OK; INVALID.
corelane_status corelane_consumer_strategy(corelane_consumer *handle, corelane_strategy how);

// Checks the process on the other side of a lane. If all processes that had it are dead,
// the side is closed from now on.
corelane_peer corelane_consumer_peer(corelane_consumer *handle);

// Waits until a process has the other side of a lane, for at most `timeout` nanoseconds, or
// `CORELANE_FOREVER`. Whether one has come.
bool corelane_consumer_wait_for_peer(corelane_consumer *handle, int64_t timeout);

// Makes a queue between threads, for at least `capacity` items of `item_size` bytes, at most 1024,
// and one handle of each side. Items are copied. For larger ones, pass pointers, or use records.
//
// OK; INVALID; NO_MEMORY. Without OK the handles are not written.
//
// # Safety
//
// `producer` and `consumer` are NULL, or may be written. `kind` is one of the kinds.
corelane_status corelane_create(corelane_kind kind,
                                size_t capacity,
                                size_t item_size,
                                corelane_producer **producer,
                                corelane_consumer **consumer);

// Makes a queue between threads for byte records of any length, with room for at least `capacity`
// bytes, and one handle of each side. `several`: any number of producers and consumers; otherwise
// one of each, which is faster.
//
// OK; INVALID; NO_MEMORY. Without OK the handles are not written.
//
// # Safety
//
// `producer` and `consumer` are NULL, or may be written.
corelane_status corelane_records_create(bool several,
                                        size_t capacity,
                                        corelane_record_producer **producer,
                                        corelane_record_consumer **consumer);

// Appends a copy of `len` bytes as a record. While there is no room, waits for at most `timeout`
// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
//
// OK; FULL; BUSY, only without waiting; CLOSED; TOO_LARGE; INVALID.
//
// # Safety
//
// `len` bytes can be read at `bytes`.
corelane_status corelane_record_push(corelane_record_producer *producer,
                                     const void *bytes,
                                     size_t len,
                                     int64_t timeout);

// Lends room for a record of up to `len` bytes, and sets `bytes` to it. Write the record there, and
// commit it. Waits as `corelane_record_push`. Any other call of the handle gives the room up.
//
// OK; FULL; BUSY, only without waiting; CLOSED; TOO_LARGE; INVALID.
//
// # Safety
//
// `bytes` is NULL, or may be written.
corelane_status corelane_record_claim(corelane_record_producer *producer,
                                      size_t len,
                                      void **bytes,
                                      int64_t timeout);

// Appends the first `len` bytes of the claimed room as a record.
//
// OK; INVALID, also if fewer bytes are claimed: then the room is given up.
corelane_status corelane_record_commit(corelane_record_producer *producer, size_t len);

// Length of the longest record, in bytes. 0 of NULL.
size_t corelane_record_max_len(corelane_record_producer *producer);

// Lends the oldest record in place. While there is none, waits for at most `timeout` nanoseconds: 0
// doesn't wait, `CORELANE_FOREVER` has no limit. Release it when done. Any other call of the handle
// that removes records releases it, too.
//
// OK; EMPTY; BUSY, only without waiting; CLOSED; INVALID. Without OK nothing is written.
//
// # Safety
//
// `bytes` and `len` are NULL, or may be written.
corelane_status corelane_record_peek(corelane_record_consumer *consumer,
                                     const void **bytes,
                                     size_t *len,
                                     int64_t timeout);

// Removes the record that is lent.
//
// OK; INVALID, also if none is lent.
corelane_status corelane_record_release(corelane_record_consumer *consumer);

// As `corelane_producer_clone`.
corelane_record_producer *corelane_record_producer_clone(corelane_record_producer *handle);

// As `corelane_producer_close`.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_record_producer_close(corelane_record_producer **handle);

// As `corelane_producer_position`, of records.
uint64_t corelane_record_producer_position(corelane_record_producer *handle);

// As `corelane_producer_is_closed`.
bool corelane_record_producer_is_closed(corelane_record_producer *handle);

// As `corelane_producer_strategy`.
corelane_status corelane_record_producer_strategy(corelane_record_producer *handle,
                                                  corelane_strategy how);

// As `corelane_producer_peer`.
corelane_peer corelane_record_producer_peer(corelane_record_producer *handle);

// As `corelane_producer_wait_for_peer`.
bool corelane_record_producer_wait_for_peer(corelane_record_producer *handle, int64_t timeout);

// As `corelane_producer_clone`.
corelane_record_consumer *corelane_record_consumer_clone(corelane_record_consumer *handle);

// As `corelane_producer_close`.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_record_consumer_close(corelane_record_consumer **handle);

// As `corelane_consumer_position`, of records.
uint64_t corelane_record_consumer_position(corelane_record_consumer *handle);

// As `corelane_producer_is_closed`.
bool corelane_record_consumer_is_closed(corelane_record_consumer *handle);

// As `corelane_producer_strategy`.
corelane_status corelane_record_consumer_strategy(corelane_record_consumer *handle,
                                                  corelane_strategy how);

// As `corelane_producer_peer`.
corelane_peer corelane_record_consumer_peer(corelane_record_consumer *handle);

// As `corelane_producer_wait_for_peer`.
bool corelane_record_consumer_wait_for_peer(corelane_record_consumer *handle, int64_t timeout);

// Makes a lane for at least `capacity` items, or bytes of records. It has no name in any file
// system, and vanishes with the last process that has it.
//
// OK; INVALID; NO_MEMORY; SYSTEM. `corelane_last_error` says why.
//
// # Safety
//
// `what` is NULL, or has a name that is NULL or a string, and `lane` is NULL or may be written.
corelane_status corelane_lane_create(const corelane_carried *what,
                                     size_t capacity,
                                     corelane_lane **lane);

// Opens a lane that another process has made, by a descriptor that this process has inherited or
// got through a socket. The descriptor stays open, and is the caller's.
//
// OK; INVALID; NOT_A_LANE; DIFFERS; CORRUPT; SYSTEM.
//
// # Safety
//
// As `corelane_lane_create`.
corelane_status corelane_lane_open(const corelane_carried *what,
                                   int descriptor,
                                   corelane_lane **lane);

// Asks the process that listens at this path for a lane: see `corelane_listener_create`. Waits for
// its answer.
//
// As `corelane_lane_open`; REFUSED.
//
// # Safety
//
// As `corelane_lane_create`; `path` is NULL or a string.
corelane_status corelane_lane_connect(const corelane_carried *what,
                                      const char *path,
                                      corelane_lane **lane);

// A descriptor of the lane that programs inherit which this process executes. A child opens it by
// `corelane_lane_open`. The caller closes it, after `fork`. Less than 0: there is none.
int corelane_lane_descriptor(const corelane_lane *lane);

// Takes a sending side of a lane for items. It may outlive the lane's handle.
//
// OK; TAKEN, if live processes have all; CORRUPT; INVALID, also of a lane for records.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_producer(const corelane_lane *lane, corelane_producer **handle);

// Takes a receiving side of a lane for items: see `corelane_lane_producer`.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_consumer(const corelane_lane *lane, corelane_consumer **handle);

// Takes the sending side of a lane for records: see `corelane_lane_producer`.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_record_producer(const corelane_lane *lane,
                                              corelane_record_producer **handle);

// Takes the receiving side of a lane for records: see `corelane_lane_producer`.
//
// # Safety
//
// `handle` is NULL, or may be written.
corelane_status corelane_lane_record_consumer(const corelane_lane *lane,
                                              corelane_record_consumer **handle);

// Closes the lane's handle, and sets the pointer to NULL. Sides that were taken go on.
//
// # Safety
//
// NULL, or where the only pointer to a lane is, or NULL.
void corelane_lane_close(corelane_lane **lane);

// Listens at a path for processes of the same user that ask for a lane. The socket of a killed
// process at this path is replaced.
//
// OK; INVALID; SYSTEM.
//
// # Safety
//
// `path` is NULL or a string, and `listener` is NULL or may be written.
corelane_status corelane_listener_create(const char *path, corelane_listener **listener);

// Waits for a process that asks for a lane, and gives it this one. Several threads may do so.
//
// OK; INVALID; SYSTEM.
corelane_status corelane_listener_hand_out(const corelane_listener *listener,
                                           const corelane_lane *lane);

// Closes the listener, and sets the pointer to NULL.
//
// # Safety
//
// NULL, or where the only pointer to a listener is, or NULL.
void corelane_listener_close(corelane_listener **listener);

// Makes a queue for one owner and thieves: block-based work stealing, for at least `capacity` items
// of `item_size` bytes, at most 1024.
//
// OK; INVALID; NO_MEMORY. Without OK the handle is not written.
//
// # Safety
//
// `worker` is NULL, or may be written. `order` is one of the orders.
corelane_status corelane_worker_create(corelane_order order,
                                       size_t capacity,
                                       size_t item_size,
                                       corelane_worker **worker);

// Pushes a copy of the item at `item`. Only the owner pushes and pops.
//
// OK; FULL; INVALID.
//
// # Safety
//
// An item can be read at `item`.
corelane_status corelane_worker_push(corelane_worker *worker, const void *item);

// Removes the next item in the owner's order, and copies it to `into`.
//
// OK; EMPTY; INVALID.
//
// # Safety
//
// An item may be written at `into`.
corelane_status corelane_worker_pop(corelane_worker *worker, void *into);

// A handle for a thief. NULL of NULL.
corelane_stealer *corelane_worker_stealer(corelane_worker *worker);

// Steals up to `n` of the oldest items in one step, copies them to `into`, and changes `n` to their
// number.
//
// OK; EMPTY; BUSY; CLOSED, when the owner is gone; INVALID. Without OK, `n` is 0.
//
// # Safety
//
// `n` is NULL or valid, and as many items may be written at `into`.
corelane_status corelane_steal(corelane_stealer *stealer, void *into, size_t *n);

// One more handle for a thief. NULL of NULL.
corelane_stealer *corelane_stealer_clone(corelane_stealer *stealer);

// Closes the owner's handle, and sets the pointer to NULL: a second close does nothing. Thieves may
// steal what is left.
//
// # Safety
//
// NULL, or where the only pointer to a handle is, or NULL.
void corelane_worker_close(corelane_worker **worker);

// Closes a thief's handle, and sets the pointer to NULL.
//
// # Safety
//
// As `corelane_worker_close`.
void corelane_stealer_close(corelane_stealer **stealer);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CORELANE_H */
