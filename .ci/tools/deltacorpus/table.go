package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// table writes the report as Markdown: medians by kind and by compressor, and a row for each pair.
func (r *report) table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s. The layers were built and compressed with %s.\n", r.Date, r.Cores, r.System, r.Go)
	r.byKind(&b)
	r.byCompressor(&b)
	r.byPair(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) byKind(b *strings.Builder) {
	b.WriteString("\n### By kind\n\nMedian of the carried bytes of compressed blobs, in percent of the whole ones.\n\n" +
		"| kind | pairs | blobs | auto % | max % | auto: CPU s per MB of content | max: CPU s per MB | decode: CPU s per MB | peak MB: encode auto | max | rebuild |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, kind := range append(slices.Clone(kinds), "all") {
		rows := r.where(func(m measurement) bool { return m.compressed() && (kind == "all" || m.Kind == kind) })
		if len(rows) == 0 {
			continue
		}
		perMB := func(f func(measurement) float64) float64 {
			return median(rows, func(m measurement) float64 { return f(m) / float64(m.Content) * 1e6 })
		}
		fmt.Fprintf(b, "| %s | %d | %d | %.1f | %.1f | %.3f | %.3f | %.3f | %.0f | %.0f | %.0f |\n", kind, countPairs(rows), len(rows),
			100*median(rows, func(m measurement) float64 { return m.carried(m.Auto) }),
			100*median(rows, func(m measurement) float64 { return m.carried(m.Max) }),
			perMB(func(m measurement) float64 { return m.Auto.Encode }),
			perMB(func(m measurement) float64 { return m.Max.Encode }),
			perMB(func(m measurement) float64 { return m.Auto.Decode }),
			largest(rows, func(m measurement) int64 { return m.Auto.EncodePeak }),
			largest(rows, func(m measurement) int64 { return m.Max.EncodePeak }),
			largest(rows, func(m measurement) int64 { return max(m.Auto.DecodePeak, m.Max.DecodePeak) }))
	}
	var whole, auto, most float64
	for _, m := range r.where(measurement.compressed) {
		whole += float64(m.Whole)
		auto += m.carried(m.Auto) * float64(m.Whole)
		most += m.carried(m.Max) * float64(m.Whole)
	}
	fmt.Fprintf(b, "\nAll compressed blobs have %.1f MB; carried are %.1f MB (%.1f %%) with auto and %.1f MB (%.1f %%) with max.\n",
		whole/1e6, auto/1e6, 100*auto/whole, most/1e6, 100*most/whole)
}

func (r *report) byCompressor(b *strings.Builder) {
	b.WriteString("\n### By compressor\n\n| compressor | blobs | reproduced | auto % | max % | detect: CPU s per MB of content | compress again: CPU s per MB | found as |\n" +
		"|---|--:|--:|--:|--:|--:|--:|---|\n")
	for _, z := range compressors() {
		rows := r.where(func(m measurement) bool { return m.Compressor == z.name })
		if len(rows) == 0 {
			continue
		}
		found := r.where(func(m measurement) bool { return m.Compressor == z.name && m.Found != "" })
		var names []string
		for _, m := range found {
			if !slices.Contains(names, m.Found) {
				names = append(names, m.Found)
			}
		}
		fmt.Fprintf(b, "| %s | %d | %d | %.1f | %.1f | %.3f | %.3f | %s |\n", z.name, len(rows), len(found),
			100*median(rows, func(m measurement) float64 { return m.carried(m.Auto) }),
			100*median(rows, func(m measurement) float64 { return m.carried(m.Max) }),
			median(rows, func(m measurement) float64 { return m.Detect / float64(m.Content) * 1e6 }),
			median(rows, func(m measurement) float64 { return m.Compress / float64(m.Content) * 1e6 }),
			strings.Join(names, "; "))
	}
}

func (r *report) byPair(b *strings.Builder) {
	b.WriteString("\n### By pair\n\nThe delta is the same for all compressors but for a few bytes. The percentages are of the blob by the compressor " +
		"that is named; a delta that saves less than a fifth is not carried, which counts as 100.\n\n" +
		"| kind | layer | content MB | gzip MB | auto MB | max MB | auto %: go-gzip | pgzip | zstd | max %: go-gzip | pgzip | zstd | CPU s: auto | max | decode |\n" +
		"|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, m := range r.Rows {
		if i > 0 && r.Rows[i-1].Pair == m.Pair {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %.1f | %.2f | %.2f | %.2f |", m.Kind, m.Pair, float64(m.Content)/1e6, float64(m.Whole)/1e6, float64(m.Auto.Delta)/1e6, float64(m.Max.Delta)/1e6)
		for _, effort := range []func(measurement) cost{func(m measurement) cost { return m.Auto }, func(m measurement) cost { return m.Max }} {
			for _, name := range []string{"go-gzip", "pgzip", "zstd"} {
				for _, other := range r.where(func(o measurement) bool { return o.Pair == m.Pair && o.Compressor == name }) {
					fmt.Fprintf(b, " %.1f |", 100*other.carried(effort(other)))
				}
			}
		}
		fmt.Fprintf(b, " %.1f | %.1f | %.1f |\n", m.Auto.Encode, m.Max.Encode, m.Auto.Decode)
	}
}

func (r *report) where(f func(measurement) bool) []measurement {
	var rows []measurement
	for _, m := range r.Rows {
		if f(m) {
			rows = append(rows, m)
		}
	}
	return rows
}

// compressed reports whether the blob is smaller than its content: deltas of others save more.
func (m measurement) compressed() bool { return m.Compressor != "none" }

func countPairs(rows []measurement) int {
	pairs := map[string]bool{}
	for _, m := range rows {
		pairs[m.Pair] = true
	}
	return len(pairs)
}

// median returns the median of f: the mean of the two in the middle if their number is even.
func median(rows []measurement, f func(measurement) float64) float64 {
	var all []float64
	for _, m := range rows {
		all = append(all, f(m))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// largest returns the maximum of f in megabytes.
func largest(rows []measurement, f func(measurement) int64) float64 {
	var n int64
	for _, m := range rows {
		n = max(n, f(m))
	}
	return float64(n) / 1e6
}
