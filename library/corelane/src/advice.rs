//! When to use a queue, and when not: for the queues' pages, for `lane list`, and for the book,
//! whose table `lane list --markdown` prints.

/// Two texts for each queue, called by its id with `_` for `-`. They continue "Use it" and "Don't
/// use it", without Markdown and full stop. `lane list` shows the first 58 characters of `choose`.
/// `lane bench` doesn't recommend a queue whose `choose` begins with "to": to learn, to compare.
macro_rules! advice {
    // The paragraphs of a queue's page.
    ($id:ident) => {
        concat!("**Use it** ", advice!(choose $id), ".\n\n**Don't use it** ", advice!(avoid $id), ".")
    };
    // The same of a queue that is there only to compare or to learn.
    (literature $id:ident) => {
        concat!("Only with the feature `literature`.\n\n", advice!($id))
    };
    // A row of a table of queues: link, when to use it, when not.
    (row $id:ident $path:literal) => {
        concat!("| [`", $path, "`](crate::", $path, ") | ", advice!(choose $id), " | ", advice!(avoid $id), " |")
    };

    (choose bwos_lifo) => { "for the tasks of a thread that computes, when others steal those that it doesn't come to: fork and join, the marking of a graph" };
    (avoid bwos_lifo) => { "when an old task must not wait for newer ones" };

    (choose bwos_fifo) => { "for the tasks of a thread of a server or an executor, when others steal those that it doesn't come to" };
    (avoid bwos_fifo) => { "between threads of which none runs tasks itself: for them there are the queues with producers and consumers" };

    (choose abp) => { "to compare, or for tasks of a thread that computes when their number is unknown, and thieves often find few" };
    (avoid abp) => { "for speed: each pop has a fence, which bwos-lifo has not" };

    (choose abp_asymmetric) => { "to compare, or for tasks whose number is unknown when thefts are rare and each should bring much" };
    (avoid abp_asymmetric) => { "when thieves come often (each theft takes microseconds), or a thread stopped in a call must not delay the owner" };

    (choose tokio_ring) => { "to compare: the queue of Tokio's workers, in which a thief reaches all items but one thief at a time steals" };
    (avoid tokio_ring) => { "for speed: each pop has a compare-and-swap, which bwos-fifo has not; or when a thread stopped in a steal must not stop other thieves" };

    (choose cnq) => { "when tens of threads share a queue, and an item may leave some hundred places out of turn" };
    (avoid cnq) => { "on a few cores (leased keeps the order and is faster there), when items of one producer must stay in order, or with a k below ten times the threads of a side" };

    (choose cnq_bbq) => { "to compare: cnq over the block-based queue" };
    (avoid cnq_bbq) => { "otherwise: cnq is faster with many consumers" };

    (choose cnq_ring) => { "to compare: cnq over the plain ring" };
    (avoid cnq_ring) => { "otherwise: cnq is faster, and with more threads than cores the threads of a side wait for each other" };

    (choose cnq_scq) => { "to compare: cnq over scq" };
    (avoid cnq_scq) => { "otherwise: cnq is faster" };

    (choose lq) => { "to learn, or as the baseline that all others here improve" };
    (avoid lq) => { "for speed: with both sides busy an item costs each side three cache misses" };

    (choose llq) => { "as a plain ring that publishes each item at once, best when the producer is the faster side" };
    (avoid llq) => { "when the consumer waits for items that are pushed one by one, and throughput counts: an item costs two cache misses" };

    (choose blq) => { "when items come in groups, or slots are filled or read in place" };
    (avoid blq) => { "to push items one by one: then blq works as llq" };

    (choose ffq) => { "when single items must arrive soon and few are in flight: request and reply, signals" };
    (avoid ffq) => { "for throughput: with both sides in the same cache line an item costs each side two misses" };

    (choose ffq_slip) => { "to see what temporal slipping does" };
    (avoid ffq_slip) => { "otherwise: its thresholds fit one machine and one load" };

    (choose iffq) => { "when the producer is often faster, and single items must still arrive soon" };
    (avoid iffq) => { "when memory is short: the ring has 3·H − 1 slots more than its capacity, with H slots in a partition" };

    (choose biffq) => { "when the producer has batches, the consumer waits for items, and single items must arrive as soon as with iffq" };
    (avoid biffq) => { "without batches (then biffq works as iffq), or when memory is short" };

    (choose mcring) => { "to compare, or for a stream that never pauses, if the queue must form the batches" };
    (avoid mcring) => { "when a thread waits for an answer: an item is invisible until its batch is full or flushed" };

    (choose mcring_sane) => { "to measure what the timer costs" };
    (avoid mcring_sane) => { "otherwise: the last items of a producer that stops pushing stay invisible, as with mcring" };

    (choose bqueue) => { "when items are pushed one by one and throughput counts, or for short round trips between far cores" };
    (avoid bqueue) => { "when memory is short: the producer needs a batch of free slots to continue, so the ring has almost a batch more than its capacity" };

    (choose linering) => { "by default: for items one by one, dialogues and slices, between near or far cores" };
    (avoid linering) => { "when memory is short (the ring takes a seventh more for u64 items, and some lines), or to fill slots in place: chunks are copied" };

    (choose recordring) => { "for byte records of any length from one producer to one consumer: packets, log lines, messages, frames" };
    (avoid recordring) => { "between several producers or consumers (bbq-bytes), or for items of one type: those are faster one by one in linering" };

    (choose bbq_spsc) => { "when many items wait most of the time, for large queues, or to fill slots in place" };
    (avoid bbq_spsc) => { "when memory is short: slots come back a block at a time, so the ring has almost a block more than its capacity" };

    (choose leased) => { "by default between several threads, on one side or on both, also with more threads than cores" };
    (avoid leased) => { "when each single push must be fast although the threads of its side seldom push (a change of threads takes a microsecond), or a thread stopped in a call must not delay others" };

    (choose bbq) => { "between several threads that seldom push or pop, and then must be done in a tenth of a microsecond" };
    (avoid bbq) => { "when a thread stopped in a call must not delay others: a pop is busy while a push into the same block is unfinished" };

    (choose bbq_mpsc) => { "when many threads send to one: logs, events, results" };
    (avoid bbq_mpsc) => { "when a producer stopped in a push must not delay the consumer" };

    (choose bbq_spmc) => { "when one thread hands work to many" };
    (avoid bbq_spmc) => { "when each consumer must see every item: each item is popped by one consumer" };

    (choose faaq) => { "when many threads pop at once, each on a core of its own: bbq with pops by fetch-and-add" };
    (avoid faaq) => { "when consumers mostly wait for items (then it works as bbq), or a thread stopped in a call must not delay others" };

    (choose bbq_bytes) => { "for records of any length, written and read in place: packets, log lines and frames, without an allocation for each" };
    (avoid bbq_bytes) => { "for items of one type (bbq stores no lengths), or when a thread stopped in a call must not delay others" };

    (choose ring) => { "to compare: the paper's baseline, which many systems have, with every slot usable" };
    (avoid ring) => { "with many threads, more threads than cores, or threads of different priority: a thread stopped in a call stops its side" };

    (choose ring_rts) => { "to compare: a ring in which other threads continue while one is stopped in a call" };
    (avoid ring_rts) => { "when a pushed item must be visible at once: the item stays invisible while another push, begun before or meanwhile, is unfinished" };

    (choose ring_hts) => { "to compare, or when one of several consumers looks at items before a pop" };
    (avoid ring_hts) => { "when many threads push or pop at once: all but one of a side fail as busy" };

    (choose scq) => { "when a thread stopped in a call must not delay others: different priorities, or far more threads than cores" };
    (avoid scq) => { "for speed while there is a core for each thread: an item needs eight locked instructions, and with bbq only four" };

    (choose scq_delayed) => { "to compare: a call looks 10,000 times before it gives up, as in the paper's program" };
    (avoid scq_delayed) => { "when calls fail: each failed call takes 10,000 looks" };

    (choose locked) => { "to compare, or when waiting threads should sleep" };
    (avoid locked) => { "without the standard library, or for throughput: all threads of both sides wait for one lock" };

    (choose bbq_drop_old) => { "to compare: the paper's queue for logs, traces and samples, whose producers don't wait for consumers" };
    (avoid bbq_drop_old) => { "when an item must not be lost, or there are more producers than cores: a push is busy while a stopped push is in the way" };

    (choose seqring) => { "for logs, traces and samples: a push never fails or waits, and the newest items matter most" };
    (avoid seqring) => { "when an item must not be lost, or is more than plain data" };

    (choose dspsc) => { "to compare, or when each item is an allocation anyway" };
    (avoid dspsc) => { "for throughput: an item is in a cache line of its own, and costs the consumer a miss" };

    (choose uspsc) => { "when the number of waiting items is unknown: it is as fast as its rings while the items fit, and never full" };
    (avoid uspsc) => { "when memory must be bounded, or a slow consumer must stop the producer" };

    (choose lcrq) => { "for tokens, if the number of waiting tokens is unknown or a thread stopped in a call must not delay others" };
    (avoid lcrq) => { "for other items (lprq needs no box for each, and runs on any machine), or when memory must be bounded" };

    (choose lprq) => { "when the number of waiting items is unknown, or a thread stopped in a call must not delay others" };
    (avoid lprq) => { "when memory must be bounded, or between two threads, where uspsc takes a fraction of the time" };

    (choose msq) => { "to compare: the textbook's list, with an allocation for each item, and one pointer for all threads of a side" };
    (avoid msq) => { "for throughput: lprq does the same faster" };

    (choose msq_pool) => { "to compare: the textbook's list as its paper has it, with nodes in a pool, which processes can share" };
    (avoid msq_pool) => { "for throughput: scq does the same faster, and leased much faster" };

    (choose lcrq_pool) => { "to compare: the paper's list of rings, with rings in a pool, which processes can share" };
    (avoid lcrq_pool) => { "when there must be room (handles that are idle keep rings), or for speed (leased)" };

    (choose d_cbo) => { "to compare: the relaxed queue of 2025 that balances operation counts of sub-queues" };
    (avoid d_cbo) => { "when the order must have a bound, or consumers mostly find nothing: they look at all sub-queues" };

    (choose radq) => { "to compare: the distributed queue that balances the lengths of its sub-queues" };
    (avoid radq) => { "when items should leave almost in order (d-cbo)" };

    (choose lldq) => { "to compare: the distributed queue in which each producer has a sub-queue of its own" };
    (avoid lldq) => { "when an old item must not wait behind newer ones, or memory is short: each producer has room for all items" };

    (choose multi_fifo) => { "to compare: the relaxed queue of locked rings whose items have timestamps" };
    (avoid multi_fifo) => { "when the order must have a bound, or items are small: each has a timestamp beside it" };

    (choose bsq) => { "to compare: the k-FIFO ring of segments, whose threads take slots at random" };
    (avoid bsq) => { "for speed: the last slots of a segment are found by a search" };

    (choose usq) => { "to compare: the k-FIFO list of segments, whose threads take slots at random" };
    (avoid usq) => { "for speed, as bsq, or when memory must be bounded" };

    (choose block_fifo) => { "to compare: the k-FIFO queue of 2025 whose handles own blocks in a window" };
    (avoid block_fifo) => { "when consumers mostly find nothing: they look at a whole window" };
}
