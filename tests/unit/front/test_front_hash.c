/*
 * test_front_hash.c - the hashes of keys are those of nutcracker.
 *
 * Goal:   each of its twelve hashes agrees, also for bytes above 127, for lengths of every
 *         remainder, and for the empty key.
 * Method: values that nutcracker's own functions gave (tree 60aaf85, x86-64).
 */
#include "front/front_hash.h"
#include "support/test.h"

#define KEYS 8

/* Keys that are hashed. The last one is filled with the bytes 1..250. */
static const char *const keys[KEYS] = {
	"", "a", "ab", "abc", "user:1234", "foo\xff|\x80", "\xe9\x80\xfe"};

static const struct {
	const char *name;
	uint32_t of[KEYS];
} known[] = {
	{"one_at_a_time",
	 {0x00000000, 0xca2e9442, 0x45e61e58, 0xed131f5b, 0x856833ab, 0x39df6496, 0x68c0b003,
	  0xea854585}},
	{"md5",
	 {0xd98c1dd4, 0xb975c10c, 0x43f47e18, 0x98500190, 0xe7f65f01, 0x7299f90b, 0x70c131d2,
	  0x277f4864}},
	{"crc16",
	 {0x00000000, 0x00007c87, 0x007c74ff, 0x7c749dd6, 0xc1323dc6, 0xcc52303f, 0x6c3b2be9,
	  0x90a5241a}},
	{"crc32",
	 {0x00000000, 0x000068b7, 0x00001e83, 0x00003524, 0x000030b0, 0x000047e2, 0x000038f4,
	  0x00000b4c}},
	{"crc32a",
	 {0x00000000, 0xe8b7be43, 0x9e83486d, 0x352441c2, 0xb0b05457, 0xc7e2cb1a, 0x38f4756d,
	  0x8b4c8295}},
	{"fnv1_64",
	 {0x84222325, 0x8601b7be, 0xb4eb37b8, 0x6bafadcb, 0xd3a43b42, 0xa47ea03a, 0x942d6bd8,
	  0x6ca98b18}},
	{"fnv1a_64",
	 {0x84222325, 0x8601ec8c, 0xb545986a, 0x0541574b, 0xa44673c4, 0xdbbbcc84, 0x4afa91d6,
	  0x46ca2702}},
	{"fnv1_32",
	 {0x811c9dc5, 0x050c5d7e, 0x70772d38, 0x439c2f4b, 0x13b52562, 0x31dbf4fa, 0xcf830c98,
	  0xeb6679d8}},
	{"fnv1a_32",
	 {0x811c9dc5, 0xe40c292c, 0x4d2505ca, 0x1a47e90b, 0x8457ce84, 0xa336cea4, 0xd3b6b076,
	  0xc9345ee2}},
	{"hsieh",
	 {0x00000000, 0x93642e87, 0x5b8c0ec3, 0xe5186b3a, 0x52409379, 0x2a5e961a, 0x8e16ea87,
	  0x024ec5ec}},
	{"murmur",
	 {0x00000000, 0x4b41757c, 0xe3b54dfb, 0x7b0cc428, 0x3619c7c6, 0x72320698, 0xa65c265d,
	  0x40eee205}},
	{"jenkins",
	 {0xdeadbefc, 0xe0a38690, 0xc1b5695b, 0x8f415600, 0xf57ec064, 0x24459a43, 0x31263ac3,
	  0x1a6b621c}},
};

static struct view
key_of(uint8_t bytes[250], int i)
{
	if (i < KEYS - 1)
		return (struct view){.data = (const uint8_t *)keys[i],
				     .len = (uint32_t)strlen(keys[i])};
	for (int b = 0; b < 250; b++)
		bytes[b] = (uint8_t)(b + 1);
	return (struct view){.data = bytes, .len = 250};
}

TEST(hashes_are_nutcrackers)
{
	uint8_t bytes[250];

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		enum front_hash hash;

		check(front_hash_by_name(known[i].name, &hash));
		for (int k = 0; k < KEYS; k++)
			check_eq(front_hash(hash, key_of(bytes, k)), known[i].of[k]);
	}
}

TEST(every_hash_has_a_known_value)
{
	check_eq(sizeof known / sizeof known[0], FRONT_HASHES_COUNT);
}

TEST(other_names_are_none)
{
	enum front_hash hash;

	check(!front_hash_by_name("", &hash));
	check(!front_hash_by_name("md", &hash));
	check(!front_hash_by_name("md55", &hash));
}

/* MD5 of "a" (RFC 1321, A.5): 0cc175b9 c0f1b6a8 31c399e2 69772661. */
TEST(points_are_the_digests_words)
{
	uint32_t points[4];

	front_hash_points((struct view){.data = (const uint8_t *)"a", .len = 1}, points);
	check_eq(points[0], 0xb975c10c);
	check_eq(points[1], 0xa8b6f1c0);
	check_eq(points[2], 0xe299c331);
	check_eq(points[3], 0x61267769);
}
