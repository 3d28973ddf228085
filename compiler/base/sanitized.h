/* Is this built with a sanitizer, which takes memory for its own and sees a wrong access only to what was
 * really freed? */
#ifndef TC_BASE_SANITIZED_H
#define TC_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TC_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TC_SANITIZED 1
#endif
#endif
#ifndef TC_SANITIZED
#define TC_SANITIZED 0
#endif

#endif
