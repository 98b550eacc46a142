/*
 * test.h - cmocka, with names that read well and values that print themselves.
 *
 * A test file states its goal and method at the top; its functions are sentences that can be
 * false; its data is a table.
 */
#ifndef CLOCKOO_TEST_H
#define CLOCKOO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#undef stop /* a macro of cmocka 2; rigs have functions of that name */

#define check(cond)          assert_true(cond)
#define check_eq(a, b)       assert_int_equal(a, b)
#define check_ne(a, b)       assert_int_not_equal(a, b)
#define check_str(a, b)      assert_string_equal(a, b)
#define check_bytes(a, b, n) assert_memory_equal(a, b, n)
#define check_null(p)        assert_null(p)
#define check_ptr(p)         assert_non_null(p)

/* Repetitions of a test, by the build: sanitized code takes several times as long. */
#ifdef __SANITIZE_ADDRESS__
#define rounds(all, sanitized) (sanitized)
#else
#define rounds(all, sanitized) (all)
#endif

#endif
