/*
 * test.h - cmocka, with names that read well, values that print themselves, and tests that are
 * written once.
 *
 * A test file states its goal and method at the top; its functions are sentences that can be
 * false; its data is a table.
 *
 *     SETUP(start)                   before each test of the file
 *     {
 *     }
 *
 *     TEST(a_key_is_found)           the program runs each TEST, in the order of the file
 *     {
 *     }
 *
 *     TEST(another, up, down)        with its own setup and teardown (NULL: none), not the file's
 *
 * The linker collects the rows of all TESTs of a program (test_run.c), and gives it a main
 * (test_main.c) that runs them, or those that match its argument, a pattern of names. A program
 * with a main of its own calls tests_run().
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

typedef void test_function(void);

/* A TEST. Without a setup and a teardown of its own it has those of its file. */
struct test_row {
	const char *name, *file;
	int line;
	test_function *run, *setup, *teardown;
	test_function *const *file_setup, *const *file_teardown;
};

/* Runs all TESTs of this program between begin() and end(), each of which may be NULL. Returns the
 * number of those that failed: the exit status. */
int tests_run(test_function *begin, test_function *end);
/* Makes tests_run() run only the TESTs whose names match a pattern of fnmatch(3). Ends the program
 * if no name matches. */
void tests_filter(const char *pattern);

/* TEST(name, no_setup) is a test without its file's setup and teardown. */
void no_setup(void);

/* Tentative definitions: NULL where the file has no SETUP or TEARDOWN. */
static test_function *const test_file_setup __attribute__((unused));
static test_function *const test_file_teardown __attribute__((unused));

#define SETUP(name)                                                                                \
	static test_function name;                                                                 \
	static test_function *const test_file_setup = name;                                        \
	static void name(void)
#define TEARDOWN(name)                                                                             \
	static test_function name;                                                                 \
	static test_function *const test_file_teardown = name;                                     \
	static void name(void)

#define TEST(...) TEST_ROW(__VA_ARGS__, NULL, NULL, )
#define TEST_ROW(name, setup, teardown, ...)                                                       \
	static test_function name;                                                                 \
	static const struct test_row name##_row = {                                                \
		#name, __FILE__, __LINE__,         name,                                           \
		setup, teardown, &test_file_setup, &test_file_teardown};                           \
	static const struct test_row *const name##_listed                                          \
		__attribute__((section("test_rows"), used)) = &name##_row;                         \
	static void name(void)

#endif
