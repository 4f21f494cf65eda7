package zlib

// A search says how thoroughly a level looks for matches. The values are the same in zlib and
// gzip, in all their versions.
type search struct {
	lazy     bool // try the next position before a match is accepted
	good     int  // try a quarter of the candidates if the match at hand has this length
	accepted int  // lazy: accept a match of this length at once; else: do not index the content of longer matches
	nice     int  // do not look for a longer match
	tries    int  // number of candidates
}

// levels are the searches of levels 1 to 9. Level 0 does not search.
var levels = [10]search{
	1: {good: 4, accepted: 4, nice: 8, tries: 4},
	2: {good: 4, accepted: 5, nice: 16, tries: 8},
	3: {good: 4, accepted: 6, nice: 32, tries: 32},
	4: {lazy: true, good: 4, accepted: 4, nice: 16, tries: 16},
	5: {lazy: true, good: 8, accepted: 16, nice: 32, tries: 32},
	6: {lazy: true, good: 8, accepted: 16, nice: 128, tries: 128},
	7: {lazy: true, good: 8, accepted: 32, nice: 128, tries: 256},
	8: {lazy: true, good: 32, accepted: 128, nice: 258, tries: 1024},
	9: {lazy: true, good: 32, accepted: 258, nice: 258, tries: 4096},
}
