//! `bbq`, the block-based bounded queue: [`corelane::block::shared`].

use std::ffi::c_void;
use std::slice;

use corelane::block::shared;

use crate::{Item, Status};

/// A sending side: `corelane_bbq_producer`.
#[derive(Debug)]
pub struct BbqProducer(shared::Producer<Item>);

/// A receiving side: `corelane_bbq_consumer`.
#[derive(Debug)]
pub struct BbqConsumer(shared::Consumer<Item>);

/// Makes a queue for at least `capacity` items, and one handle of each side.
///
/// # Safety
///
/// A pointer is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_bbq_create(
    capacity: usize,
    producer: *mut *mut BbqProducer,
    consumer: *mut *mut BbqConsumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    let (tx, rx) = match shared::queue(capacity) {
        Ok(both) => both,
        Err(error) => return error.into(),
    };
    // SAFETY: by the caller's contract, since neither is NULL.
    unsafe {
        producer.write(Box::into_raw(Box::new(BbqProducer(tx))));
        consumer.write(Box::into_raw(Box::new(BbqConsumer(rx))));
    }
    Status::Ok
}

/// Appends `item`, which is not NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_push(
    producer: Option<&mut BbqProducer>,
    item: *mut c_void,
) -> Status {
    match producer {
        Some(producer) if !item.is_null() => producer.0.try_push(Item(item)).into(),
        _ => Status::Invalid,
    }
}

/// Appends as many of the `n` items as fit, and returns their number.
///
/// # Safety
///
/// `items` is NULL, or `n` items can be read there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_bbq_push_slice(
    producer: Option<&mut BbqProducer>,
    items: *const Item,
    n: usize,
) -> usize {
    let Some(producer) = producer.filter(|_| !items.is_null()) else { return 0 };
    // SAFETY: by the caller's contract, since it is not NULL.
    producer.0.push_slice(unsafe { slice::from_raw_parts(items, n) })
}

/// Items that the queue always has room for; 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_producer_capacity(producer: Option<&BbqProducer>) -> usize {
    producer.map_or(0, |producer| producer.0.capacity())
}

/// Whether all consumers are destroyed; true of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_producer_is_closed(producer: Option<&BbqProducer>) -> bool {
    producer.is_none_or(|producer| producer.0.is_closed())
}

/// One more producer of the same queue; NULL of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_producer_clone(
    producer: Option<&mut BbqProducer>,
) -> Option<Box<BbqProducer>> {
    producer.map(|producer| Box::new(BbqProducer(producer.0.clone())))
}

/// Destroys the handle, and the queue with its last handle.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_producer_destroy(producer: Option<Box<BbqProducer>>) {
    drop(producer);
}

/// Removes the oldest item, and writes it to `item`.
///
/// # Safety
///
/// `item` is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_bbq_pop(
    consumer: Option<&mut BbqConsumer>,
    item: *mut *mut c_void,
) -> Status {
    let Some(consumer) = consumer.filter(|_| !item.is_null()) else { return Status::Invalid };
    match consumer.0.try_pop() {
        Ok(Item(popped)) => {
            // SAFETY: by the caller's contract, since it is not NULL.
            unsafe { item.write(popped) };
            Status::Ok
        }
        Err(error) => error.into(),
    }
}

/// Removes up to `n` of the oldest items, writes them to `into`, and returns their number.
///
/// # Safety
///
/// `into` is NULL, or `n` items may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_bbq_pop_slice(
    consumer: Option<&mut BbqConsumer>,
    into: *mut Item,
    n: usize,
) -> usize {
    let Some(consumer) = consumer.filter(|_| !into.is_null()) else { return 0 };
    // SAFETY: by the caller's contract, since it is not NULL. The places are only written.
    consumer.0.pop_slice(unsafe { slice::from_raw_parts_mut(into, n) })
}

/// Items that the queue always has room for; 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_consumer_capacity(consumer: Option<&BbqConsumer>) -> usize {
    consumer.map_or(0, |consumer| consumer.0.capacity())
}

/// Whether all producers are destroyed; true of NULL. Items may still be inside.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_consumer_is_closed(consumer: Option<&BbqConsumer>) -> bool {
    consumer.is_none_or(|consumer| consumer.0.is_closed())
}

/// One more consumer of the same queue; NULL of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_consumer_clone(
    consumer: Option<&mut BbqConsumer>,
) -> Option<Box<BbqConsumer>> {
    consumer.map(|consumer| Box::new(BbqConsumer(consumer.0.clone())))
}

/// Destroys the handle, and the queue with its last handle.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_bbq_consumer_destroy(consumer: Option<Box<BbqConsumer>>) {
    drop(consumer);
}
