/*
 * Tables in C++: oneTBB's concurrent_hash_map, libcuckoo (if its headers are given), and boost's
 * unordered_flat_map, which is for one thread and stands here as a baseline.
 */
#include "contender.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>
#include <memory>
#include <tbb/concurrent_hash_map.h>
#ifdef HAVE_LIBCUCKOO
#include <libcuckoo/cuckoohash_map.hh>
#endif

namespace
{
struct Key {
	bench_key k;
	bool operator==(const Key &o) const
	{
		return k.word[0] == o.k.word[0] && k.word[1] == o.k.word[1];
	}
};

struct Hash {
	using is_avalanching = void; /* so that boost does not mix it once more */
	size_t operator()(const Key &k) const
	{
		return XXH3_64bits_withSeed(&k, sizeof k, CONTENDER_SEED);
	}
};

struct HashCompare {
	size_t hash(const Key &k) const { return Hash()(k); }
	bool equal(const Key &a, const Key &b) const { return a == b; }
};

using Item = bench_item *;
using Pair = std::pair<const Key, Item>;
using Tbb = tbb::concurrent_hash_map<Key, Item, HashCompare, std::allocator<Pair>>;
using Flat = boost::unordered_flat_map<Key, Item, Hash>;

Tbb *tbb_map;
Flat *flat_map;

const Key &key_at(const lookup_batch *l, uint32_t i)
{
	return *reinterpret_cast<const Key *>(&l->keys[i]);
}

void hit(lookup_batch *l, const bench_item *item)
{
	l->hits++;
	if (l->touch)
		l->sum += item->value[0];
}

bool tbb_create(bench_item *, uint32_t count)
{
	tbb_map = new Tbb(count);
	return true;
}

void tbb_insert(bench_item *item)
{
	tbb_map->insert(std::make_pair(Key{item->key}, item));
}

void tbb_lookup(uint32_t, lookup_batch *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		Tbb::const_accessor found;

		if (tbb_map->find(found, key_at(l, i)))
			hit(l, found->second);
	}
}

bool flat_create(bench_item *, uint32_t count)
{
	flat_map = new Flat(count);
	return true;
}

void flat_insert(bench_item *item)
{
	flat_map->emplace(Key{item->key}, item);
}

void flat_lookup(uint32_t, lookup_batch *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const auto found = flat_map->find(key_at(l, i));

		if (found != flat_map->end())
			hit(l, found->second);
	}
}

#ifdef HAVE_LIBCUCKOO
using Cuckoo = libcuckoo::cuckoohash_map<Key, Item, Hash>;
Cuckoo *cuckoo_map;

bool cuckoo_create(bench_item *, uint32_t count)
{
	cuckoo_map = new Cuckoo(count);
	return true;
}

void cuckoo_insert(bench_item *item)
{
	cuckoo_map->insert(Key{item->key}, item);
}

void cuckoo_lookup(uint32_t, lookup_batch *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		Item found;

		if (cuckoo_map->find(key_at(l, i), found))
			hit(l, found);
	}
}
#endif
} // namespace

extern "C" {
const contender contend_tbb = {"oneTBB", false, tbb_create, tbb_insert, nullptr, nullptr, nullptr, tbb_lookup};
const contender contend_boost = {"boost flat map", true, flat_create, flat_insert,
				 nullptr, nullptr, nullptr, flat_lookup};
#ifdef HAVE_LIBCUCKOO
const contender contend_libcuckoo = {"libcuckoo", false, cuckoo_create, cuckoo_insert,
				     nullptr, nullptr, nullptr, cuckoo_lookup};
#endif
}
