// Counts the lines of a file that hold one of the literals of another, with Hyperscan: a
// yardstick for bench/scan.sh, no part of gpumedic.
//
//   cc -O2 -o hyperscan hyperscan.c -lhs && ./hyperscan LITERALS FILE
//
// (Debian: apt-get install libhyperscan-dev.) Like the others it reads the file in blocks
// of whole lines and stops at the first hit of a line only in what it counts.
#include <hs/hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 20, MOST = 1 << 16 };

struct count {
	const char *text;
	unsigned long long counted_to; // the end of the last line that was counted
	unsigned long lines;
};

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *p) {
	struct count *c = p;
	(void)id, (void)from, (void)flags;
	if (to > c->counted_to) {
		const char *nl = strchr(c->text + to - 1, '\n');
		c->lines++;
		c->counted_to = nl ? (unsigned long long)(nl - c->text) + 1 : ~0ULL;
	}
	return 0;
}

int main(int argc, char **argv) {
	if (argc != 3) {
		fprintf(stderr, "usage: hyperscan LITERALS FILE\n");
		return 64;
	}
	static const char *text[MOST];
	static size_t length[MOST];
	static unsigned flags[MOST], id[MOST];
	unsigned n = 0;
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(argv[1], "r");
	if (!f) {
		perror(argv[1]);
		return 1;
	}
	for (ssize_t k; n < MOST && (k = getline(&line, &cap, f)) > 0;) {
		if (line[k - 1] == '\n')
			line[--k] = 0;
		if (k == 0)
			continue;
		text[n] = strdup(line);
		length[n] = (size_t)k;
		id[n] = n;
		n++;
	}
	fclose(f);
	hs_database_t *db;
	hs_compile_error_t *err;
	if (hs_compile_lit_multi(text, flags, id, length, n, HS_MODE_BLOCK, NULL, &db, &err) != HS_SUCCESS) {
		fprintf(stderr, "compile literals: %s\n", err->message);
		return 1;
	}
	hs_scratch_t *scratch = NULL;
	hs_alloc_scratch(db, &scratch);
	if (!(f = fopen(argv[2], "r"))) {
		perror(argv[2]);
		return 1;
	}
	char *buf = malloc(BLOCK + 1);
	size_t have = 0, got;
	unsigned long lines = 0;
	while ((got = fread(buf + have, 1, BLOCK - have, f)) > 0 || have > 0) {
		have += got;
		size_t end = have;
		while (got > 0 && end > 0 && buf[end - 1] != '\n')
			end--;
		if (end == 0)
			end = have; // a line longer than a block, or the last one
		char kept = buf[end];
		buf[end] = 0;
		struct count c = {buf, 0, 0};
		hs_scan(db, buf, (unsigned)end, 0, scratch, on_match, &c);
		lines += c.lines;
		buf[end] = kept;
		memmove(buf, buf + end, have - end);
		have -= end;
	}
	printf("%lu\n", lines);
	return 0;
}
