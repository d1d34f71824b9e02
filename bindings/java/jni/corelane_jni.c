// The natives of corelane.jni.NativeQueue, over corelane.h.
#include <corelane.h>
#include <jni.h>
#include <stdint.h>

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_corelane_jni_NativeQueue_##name

static corelane_producer *producer_of(jlong handle) {
    return (corelane_producer *)(intptr_t)handle;
}

static corelane_consumer *consumer_of(jlong handle) {
    return (corelane_consumer *)(intptr_t)handle;
}

NATIVE(jint, create)(JNIEnv *env, jclass type, jint kind, jint capacity, jlongArray handles) {
    (void)type;
    corelane_producer *producer;
    corelane_consumer *consumer;
    if (capacity < 0)
        return CORELANE_STATUS_INVALID;
    corelane_status status =
        corelane_create((corelane_kind)kind, (size_t)capacity, sizeof(jlong), &producer, &consumer);
    if (status == CORELANE_STATUS_OK) {
        jlong both[2] = {(jlong)(intptr_t)producer, (jlong)(intptr_t)consumer};
        (*env)->SetLongArrayRegion(env, handles, 0, 2, both);
    }
    return status;
}

NATIVE(jlong, cloneProducer)(JNIEnv *env, jclass type, jlong producer) {
    (void)env, (void)type;
    return (jlong)(intptr_t)corelane_producer_clone(producer_of(producer));
}

NATIVE(jlong, cloneConsumer)(JNIEnv *env, jclass type, jlong consumer) {
    (void)env, (void)type;
    return (jlong)(intptr_t)corelane_consumer_clone(consumer_of(consumer));
}

NATIVE(jboolean, push)(JNIEnv *env, jclass type, jlong producer, jlong item) {
    (void)env, (void)type;
    return corelane_push(producer_of(producer), &item, 0) == CORELANE_STATUS_OK;
}

NATIVE(jlong, pop)(JNIEnv *env, jclass type, jlong consumer) {
    (void)env, (void)type;
    jlong item;
    return corelane_pop(consumer_of(consumer), &item, 0) == CORELANE_STATUS_OK ? item : INT64_MIN;
}

// Whether the array has these places; otherwise an exception is pending.
static jboolean has(JNIEnv *env, jlongArray array, jint first, jint n) {
    if (first >= 0 && n >= 0 && first <= (*env)->GetArrayLength(env, array) - n)
        return JNI_TRUE;
    (*env)->ThrowNew(env, (*env)->FindClass(env, "java/lang/ArrayIndexOutOfBoundsException"), NULL);
    return JNI_FALSE;
}

NATIVE(jint, pushMany)(JNIEnv *env, jclass type, jlong producer, jlongArray items, jint first, jint n) {
    (void)type;
    if (!has(env, items, first, n))
        return 0;
    jlong *all = (*env)->GetPrimitiveArrayCritical(env, items, NULL);
    if (all == NULL)
        return 0;
    size_t done = corelane_push_many(producer_of(producer), all + first, (size_t)n, 0);
    (*env)->ReleasePrimitiveArrayCritical(env, items, all, JNI_ABORT);
    return (jint)done;
}

NATIVE(jint, popMany)(JNIEnv *env, jclass type, jlong consumer, jlongArray into, jint first, jint n) {
    (void)type;
    if (!has(env, into, first, n))
        return 0;
    jlong *all = (*env)->GetPrimitiveArrayCritical(env, into, NULL);
    if (all == NULL)
        return 0;
    size_t done = corelane_pop_many(consumer_of(consumer), all + first, (size_t)n, 0);
    (*env)->ReleasePrimitiveArrayCritical(env, into, all, 0);
    return (jint)done;
}

NATIVE(void, closeProducer)(JNIEnv *env, jclass type, jlong producer) {
    (void)env, (void)type;
    corelane_producer *handle = producer_of(producer);
    corelane_producer_close(&handle);
}

NATIVE(void, closeConsumer)(JNIEnv *env, jclass type, jlong consumer) {
    (void)env, (void)type;
    corelane_consumer *handle = consumer_of(consumer);
    corelane_consumer_close(&handle);
}
