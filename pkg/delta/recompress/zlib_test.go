package recompress

import "testing"

// TestUnixCompressors checks that what each setting makes is recognized. Package zlib shows that it is
// what the programs make.
func TestUnixCompressors(t *testing.T) {
	t.Parallel()
	all := contents(t)
	for _, c := range compressors() {
		if !c.unix {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"empty", "one byte", "random", "mixed", "tar"} {
				for i, level := range c.levels {
					if testing.Short() && (i > 0 || kind == "random" || kind == "mixed") {
						break
					}
					use := []int{0, 8 << 10, 64 << 10}
					if testing.Short() {
						use = use[:2]
					}
					if c.size != nil && !c.size.rare {
						use = c.size.usual // other blocks are found if enough of them end with a mark
					}
					for _, size := range use {
						if c.accepts(level, size) {
							header := gzipHeader(0)
							header[9] = 3
							mustDetect(t, encode(t, c, level, size, header, all[kind]), all[kind])
						}
					}
				}
			}
		})
	}
}

// TestRefine checks that sizes of writes are tried if only they can be what is wrong.
func TestRefine(t *testing.T) {
	t.Parallel()
	for _, c := range refine(candidate{name: "zlib", level: 6}) {
		used, _ := lookup(c.name)
		if c.name != "zlib" || c.level != 6 || c.size == 0 || !used.accepts(c.level, c.size) {
			t.Errorf("refined to %v", c)
		}
	}
	for _, c := range []candidate{{name: "zlib", level: 6, size: 8 << 10}, {name: "go-gzip", level: 6}, {name: "pigz", level: 6, size: 128 << 10}, {name: "zlib"}} {
		if more := refine(c); more != nil {
			t.Errorf("%v is refined to %v", c, more)
		}
	}
}
