package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// A measurement is what one blob of one pair needs.
type measurement struct {
	Pair       string  `json:"pair"`
	Series     string  `json:"series"`
	Kind       string  `json:"kind"`
	Content    int64   `json:"content"` // bytes of the new tar archive
	Compressor string  `json:"compressor"`
	Whole      int64   `json:"whole"`       // bytes of the blob
	Found      string  `json:"found"`       // the recompression; empty if the blob cannot be reproduced
	Detect     float64 `json:"detectCPU"`   // seconds
	Compress   float64 `json:"compressCPU"` // seconds to compress the rebuilt content again
	Auto       cost    `json:"auto"`
	Max        cost    `json:"max"`
}

// A cost is what a delta with one effort needs.
type cost struct {
	Delta      int64   `json:"delta"`     // bytes
	Encode     float64 `json:"encodeCPU"` // seconds
	Decode     float64 `json:"decodeCPU"` // seconds
	EncodePeak int64   `json:"encodePeak"`
	DecodePeak int64   `json:"decodePeak"` // of decoding and compressing
	Rebuilt    bool    `json:"rebuilt"`    // the blob was rebuilt exactly
}

// A report is the result of measure.
type report struct {
	Date   string        `json:"date"`
	Cores  int           `json:"cores"`
	System string        `json:"system"`
	Go     string        `json:"go"`
	Rows   []measurement `json:"measurements"`
}

func runMeasure(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := newFlags("measure", stderr)
	to := flags.String("o", "", "write the table to `file` instead of standard output")
	jsonTo := flags.String("json", "", "write all measurements to `file`, as JSON; what an earlier run wrote there is not measured again")
	noMax := flags.Bool("auto-only", false, "do not measure the effort of --delta max")
	wanted, err := flags.parse(args)
	if err != nil {
		return err
	}
	c, err := readCorpus(*flags.dir)
	if err != nil {
		return err
	}
	r := report{
		Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: c.Go,
	}
	done := map[string]bool{}
	if *jsonTo != "" {
		earlier, err := readReport(*jsonTo)
		if err != nil {
			return err
		}
		r.Rows = earlier.Rows
		for _, m := range r.Rows {
			done[m.Pair] = true
		}
	}
	scratch, err := os.MkdirTemp(*flags.dir, "measure-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	for _, p := range c.pairs() {
		l := p[1]
		if !wanted(l.Series, l.Kind) || done[pairName(p[0], l)] {
			continue
		}
		rows, err := measurePair(ctx, *flags.dir, scratch, p[0], l, !*noMax)
		if err != nil {
			return fmt.Errorf("measuring %s %s: %w", l.Series, l.Version, err)
		}
		r.Rows = append(r.Rows, rows...)
		for _, m := range rows {
			_, _ = fmt.Fprintf(stderr, "%-10s %-45s %-10s %9d  auto %5.1f %%  max %5.1f %%  %s\n", m.Kind, m.Pair, m.Compressor, m.Whole,
				100*m.carried(m.Auto), 100*m.carried(m.Max), m.Found)
		}
		if *jsonTo != "" {
			if err := writeFile(*jsonTo, func(f *os.File) error { return json.NewEncoder(f).Encode(r) }); err != nil {
				return err
			}
		}
	}
	if *to == "" {
		return r.table(stdout)
	}
	return writeFile(*to, func(f *os.File) error { return r.table(f) })
}

// measurePair measures all blobs of a pair. What the tar archives have in common does not depend on
// how they were compressed, so there is one delta for each effort. Only its header differs, and the
// size of each is that with its own header.
func measurePair(ctx context.Context, dir, scratch string, from, to layer, withMax bool) ([]measurement, error) {
	full := func(l layer) layer {
		l.Tar = filepath.Join(dir, l.Tar)
		l.Blobs = append([]blob(nil), l.Blobs...)
		for i := range l.Blobs {
			l.Blobs[i].File = filepath.Join(dir, l.Blobs[i].File)
		}
		return l
	}
	j := job{Task: taskDetect, Old: full(from), New: full(to), Delta: filepath.Join(scratch, "delta"), Content: filepath.Join(scratch, "content")}
	detected, _, err := j.inChild(ctx)
	if err != nil {
		return nil, err
	}
	j.Recipes = detected.Recipes
	rows := make([]measurement, len(to.Blobs))
	for i, b := range to.Blobs {
		rows[i] = measurement{
			Pair: pairName(from, to), Series: to.Series, Kind: to.Kind, Content: to.Size,
			Compressor: b.Compressor, Whole: b.Size, Found: detected.Found[i], Detect: detected.CPU[i],
		}
	}
	efforts := []bool{false}
	if withMax {
		efforts = append(efforts, true)
	}
	for _, j.Max = range efforts {
		j.Task = taskEncode
		encoded, encodePeak, err := j.inChild(ctx)
		if err != nil {
			return nil, fmt.Errorf("encoding: %w", err)
		}
		j.Task = taskRebuild
		rebuilt, decodePeak, err := j.inChild(ctx)
		if err != nil {
			return nil, fmt.Errorf("rebuilding: %w", err)
		}
		for i := range rows {
			c := cost{
				Delta: encoded.Sizes[i], Encode: encoded.CPU[0], Decode: rebuilt.Decode,
				EncodePeak: encodePeak, DecodePeak: decodePeak,
			}
			if j.Max { // the same content, which becomes the same blobs as with auto
				c.Rebuilt = rows[i].Auto.Rebuilt
				rows[i].Max = c
			} else {
				c.Rebuilt = rebuilt.Rebuilt[i]
				rows[i].Auto, rows[i].Compress = c, rebuilt.CPU[i]
			}
			if rows[i].Found != "" && !c.Rebuilt {
				return nil, fmt.Errorf("%s was not rebuilt exactly", to.Blobs[i].File)
			}
		}
	}
	return rows, nil
}

func pairName(from, to layer) string {
	return fmt.Sprintf("%s %s → %s", to.Series, from.Version, to.Version)
}

// readReport returns the measurements of an earlier run, if any.
func readReport(file string) (report, error) {
	var r report
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return r, fmt.Errorf("reading measurements from %s: %w", file, err)
	}
	return r, nil
}

// minSaving is the part of a blob that a delta has to save; otherwise, the blob is carried whole.
const minSaving = 0.2

// carried returns which part of the blob an archive carries.
func (m measurement) carried(c cost) float64 {
	part := float64(c.Delta) / float64(m.Whole)
	if m.Found == "" || !c.Rebuilt || part > 1-minSaving {
		return 1
	}
	return part
}
