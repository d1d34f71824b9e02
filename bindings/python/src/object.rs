//! Messages: how Python's objects lie in a record.
//!
//! A record of objects begins with a word: the kind in the low byte, and the number of buffers in the
//! high half. The lengths of the buffers follow, a word each, and then the buffers, each at a
//! multiple of 64 bytes. The rest is a pickle, bytes, or a string in UTF-8.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString};
use std::cell::Cell;
use std::sync::Arc;

use crate::lent::Lent;
use crate::sides::Held;

/// What a lane carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Objects.
    Objects,
    /// Bytes, as programs in other languages send them.
    Bytes,
}

const WORD: usize = 8;
/// Alignment of buffers.
const LINE: usize = 64;
/// A pickle is copied if its record has at most this number of bytes: to lend it takes longer.
const SHORT: usize = 4096;

/// What the last part of a record is.
const PICKLE: u8 = 0;
const BYTES: u8 = 1;
const TEXT: u8 = 2;

/// A message that is about to be sent: its parts, and their owners.
pub(crate) struct Message<'py> {
    /// The record's first words.
    head: Vec<u8>,
    buffers: Vec<PyUntypedBuffer>,
    body: Body<'py>,
    len: usize,
}

enum Body<'py> {
    Bytes(Bound<'py, PyBytes>),
    Text(Bound<'py, PyString>),
    Buffer(PyUntypedBuffer),
}

/// The memory of a message, for use without the interpreter.
pub(crate) struct Parts<'a> {
    head: &'a [u8],
    buffers: Vec<&'a [u8]>,
    body: &'a [u8],
}

impl<'py> Message<'py> {
    pub(crate) fn new(form: Form, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        match form {
            Form::Bytes => Self::bytes(object),
            Form::Objects => Self::object(object),
        }
    }

    fn bytes(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let body = match object.cast::<PyBytes>() {
            Ok(bytes) => Body::Bytes(bytes.clone()),
            Err(_) => Body::Buffer(contiguous(object).map_err(|_| {
                let name =
                    object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
                PyTypeError::new_err(format!(
                    "this lane carries bytes, not '{name}': make it without of=bytes for any object"
                ))
            })?),
        };
        Self::of(Vec::new(), Vec::new(), body)
    }

    fn object(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            return Self::of(head(BYTES, &[]), Vec::new(), Body::Bytes(bytes.clone()));
        }
        if let Ok(text) = object.cast_exact::<PyString>()
            && text.to_str().is_ok()
        {
            return Self::of(head(TEXT, &[]), Vec::new(), Body::Text(text.clone()));
        }
        let py = object.py();
        let dumps = function(py, &DUMPS, "dumps")?;
        let aside = Aside::take(py)?;
        let pickle = dumps.call((object, 5), Some(aside.options.bind(py)))?;
        let set_aside = aside.set_aside.bind(py);
        if set_aside.is_empty() {
            aside.keep();
            return Self::of(head(PICKLE, &[]), Vec::new(), Body::Bytes(pickle.cast_into()?));
        }
        let buffers = set_aside
            .iter()
            .map(|buffer| contiguous(&buffer.call_method0(pyo3::intern!(py, "raw"))?))
            .collect::<PyResult<Vec<_>>>()?;
        let lens: Vec<_> = buffers.iter().map(|buffer| buffer.len_bytes()).collect();
        Self::of(head(PICKLE, &lens), buffers, Body::Bytes(pickle.cast_into()?))
    }

    fn of(head: Vec<u8>, buffers: Vec<PyUntypedBuffer>, body: Body<'py>) -> PyResult<Self> {
        let mut len = head.len();
        for buffer in &buffers {
            len = len.next_multiple_of(LINE) + buffer.len_bytes();
        }
        len += match &body {
            Body::Bytes(bytes) => bytes.as_bytes().len(),
            Body::Text(text) => text.to_str()?.len(),
            Body::Buffer(buffer) => buffer.len_bytes(),
        };
        Ok(Self { head, buffers, body, len })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// For a message with one buffer, which will be written in place: what is before the buffer, its
    /// length, and what is behind it.
    pub(crate) fn around_buffer(&self) -> PyResult<(Vec<u8>, usize, &[u8])> {
        let (buffers, Body::Bytes(pickle)) = (&self.buffers, &self.body) else {
            return Err(PyTypeError::new_err("not an array"));
        };
        let [buffer] = &buffers[..] else {
            return Err(PyTypeError::new_err(
                "an array of this type can't be written in place: send it by put",
            ));
        };
        let mut before = self.head.clone();
        before.resize(before.len().next_multiple_of(LINE), 0);
        Ok((before, buffer.len_bytes(), pickle.as_bytes()))
    }

    pub(crate) fn parts(&self) -> PyResult<Parts<'_>> {
        let body = match &self.body {
            Body::Bytes(bytes) => bytes.as_bytes(),
            Body::Text(text) => text.to_str()?.as_bytes(),
            Body::Buffer(buffer) => memory(buffer),
        };
        Ok(Parts { head: &self.head, buffers: self.buffers.iter().map(memory).collect(), body })
    }
}

impl Parts<'_> {
    /// Writes the message into a record of its length.
    pub(crate) fn write(&self, record: &mut [u8]) {
        let (head, _) = record.split_at_mut(self.head.len());
        head.copy_from_slice(self.head);
        let mut at = self.head.len();
        for buffer in &self.buffers {
            at = at.next_multiple_of(LINE);
            record[at..at + buffer.len()].copy_from_slice(buffer);
            at += buffer.len();
        }
        record[at..].copy_from_slice(self.body);
    }
}

fn head(kind: u8, lens: &[usize]) -> Vec<u8> {
    let first = u64::from(kind) | (lens.len() as u64) << 32;
    let mut words = Vec::with_capacity(WORD + WORD * lens.len());
    words.extend(first.to_ne_bytes());
    words.extend(lens.iter().flat_map(|&len| (len as u64).to_ne_bytes()));
    words
}

/// Where `pickle.dumps` leaves the buffers that are not in the pickle.
struct Aside {
    set_aside: Py<PyList>,
    /// The arguments that tell it.
    options: Py<PyDict>,
}

thread_local! {
    /// For the next message of this thread: to make one takes as long as to send a short message.
    static UNUSED: Cell<Option<Aside>> = const { Cell::new(None) };
}

impl Aside {
    /// Not one that is in use further out: an object may send another one while it is pickled.
    fn take(py: Python<'_>) -> PyResult<Self> {
        if let Some(unused) = UNUSED.take() {
            return Ok(unused);
        }
        let (set_aside, options) = (PyList::empty(py), PyDict::new(py));
        let append = set_aside.getattr(pyo3::intern!(py, "append"))?;
        options.set_item(pyo3::intern!(py, "buffer_callback"), append)?;
        Ok(Self { set_aside: set_aside.unbind(), options: options.unbind() })
    }

    /// For the next message: nothing is in it.
    fn keep(self) {
        UNUSED.set(Some(self));
    }
}

/// The first words of a message of bytes.
pub(crate) fn head_of_bytes(form: Form) -> Vec<u8> {
    match form {
        Form::Bytes => Vec::new(),
        Form::Objects => head(BYTES, &[]),
    }
}

/// Memory of an object, in one piece: a copy if it isn't.
pub(crate) fn contiguous(object: &Bound<'_, PyAny>) -> PyResult<PyUntypedBuffer> {
    // Fails also for arrays without dimensions.
    if let Ok(buffer) = PyUntypedBuffer::get(object)
        && buffer.is_c_contiguous()
    {
        return Ok(buffer);
    }
    let view = PyMemoryView::from(object)?;
    PyUntypedBuffer::get(&view.call_method0(pyo3::intern!(object.py(), "tobytes"))?)
}

pub(crate) fn memory(buffer: &PyUntypedBuffer) -> &[u8] {
    if buffer.len_bytes() == 0 {
        return &[];
    }
    // SAFETY: the buffer keeps the memory, which is in one piece. Other threads of Python may write
    // to it meanwhile, as with every function that copies a buffer: the copy then has some of it.
    unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast(), buffer.len_bytes()) }
}

static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A function of `pickle`.
fn function<'py>(
    py: Python<'py>,
    of: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyAny>> {
    let found = of.get_or_try_init(py, || py.import("pickle")?.getattr(name).map(Bound::unbind))?;
    Ok(found.bind(py))
}

/// The object of a record. Its buffers are copies, or lie in the lane.
pub(crate) fn object<'py>(
    py: Python<'py>,
    form: Form,
    held: Held,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if form == Form::Bytes {
        if copy {
            return Ok(PyBytes::new(py, held.bytes()).into_any());
        }
        let len = held.bytes().len();
        return view(py, &Arc::new(held), 0, len);
    }
    let bytes = held.bytes();
    let first = word(bytes, 0)?;
    let (kind, count) = (first as u8, (first >> 32) as usize);
    match kind {
        BYTES => return Ok(PyBytes::new(py, &bytes[WORD..]).into_any()),
        TEXT => return Ok(PyString::from_bytes(py, &bytes[WORD..])?.into_any()),
        PICKLE => {}
        _ => return Err(damaged()),
    }
    let loads = function(py, &LOADS, "loads")?;
    if count == 0 && bytes.len() <= SHORT {
        let pickle = PyBytes::new(py, &bytes[WORD..]);
        return loads.call1((pickle,)); // then the record is given back
    }
    let held = Arc::new(held);
    let bytes = held.bytes();
    let (mut at, buffers) = (WORD + WORD.saturating_mul(count), PyList::empty(py));
    for i in 0..count {
        let len = word(bytes, 1 + i)? as usize;
        let start = at.next_multiple_of(LINE);
        at = start.saturating_add(len);
        let buffer = bytes.get(start..at).ok_or_else(damaged)?;
        if copy {
            buffers.append(PyByteArray::new(py, buffer))?;
        } else {
            buffers.append(Lent::new(py, &held, start, len)?)?;
        }
    }
    if at > bytes.len() {
        return Err(damaged());
    }
    let pickle = Lent::new(py, &held, at, bytes.len() - at)?;
    if count == 0 {
        return loads.call1((pickle,));
    }
    let options = PyDict::new(py);
    options.set_item(pyo3::intern!(py, "buffers"), buffers)?;
    loads.call((pickle,), Some(&options))
}

/// A part of a record, as a memoryview.
fn view<'py>(
    py: Python<'py>,
    held: &Arc<Held>,
    start: usize,
    len: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let lent = Lent::new(py, held, start, len)?;
    Ok(PyMemoryView::from(lent.as_any())?.into_any())
}

fn word(bytes: &[u8], i: usize) -> PyResult<u64> {
    let word = bytes.get(WORD * i..).and_then(|rest| rest.first_chunk());
    word.map(|&word| u64::from_ne_bytes(word)).ok_or_else(damaged)
}

fn damaged() -> PyErr {
    PyRuntimeError::new_err(
        "a message that no sender of corelane's Python package can have made: another program has \
         written to the lane",
    )
}
