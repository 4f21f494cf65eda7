package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/filter"
	"github.com/gantry-mirror/gantry/pkg/catalog/validate"
	"github.com/gantry-mirror/gantry/pkg/imageset"
)

// indexSize is the size of a whole public index: 600 packages, 10,000 to 16,000 bundles.
const indexSize = 350 << 20

// writeIndex writes a whole index below dir: the real packages beside the checkout, or else
// generated ones, repeated under other names. It returns the size and the names.
func writeIndex(tb testing.TB, dir string) (size int64, packages []string) {
	tb.Helper()
	fsys := os.DirFS(realCatalogs)
	if _, err := fs.Stat(fsys, "."); err != nil {
		fsys = generated(24)
	}
	c, err := catalog.Read(tb.Context(), fsys, catalog.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	files, err := catalog.Files(c)
	if err != nil {
		tb.Fatal(err)
	}
	for copied := 0; size < indexSize; copied++ {
		for _, f := range files {
			old, _, _ := strings.Cut(f.Path, "/")
			name := fmt.Sprintf("%s-%02d", old, copied)
			var text bytes.Buffer
			if _, err := f.WriteTo(&text); err != nil {
				tb.Fatal(err)
			}
			renamed := regexp.MustCompile(`("package": *|"packageName": *|"name": *)"`+regexp.QuoteMeta(old)+`"`).ReplaceAll(text.Bytes(), []byte(`${1}"`+name+`"`))
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				tb.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name, "catalog.json"), renamed, 0o644); err != nil {
				tb.Fatal(err)
			}
			size += int64(len(renamed))
			packages = append(packages, name)
		}
	}
	return size, packages
}

// tasks are run on a whole index, each in a process of its own, to measure its memory.
var tasks = map[string]func(tb testing.TB, dir string) error{
	"filter": func(tb testing.TB, dir string) error {
		op := imageset.Operator{}
		names, err := filepath.Glob(filepath.Join(dir, "*-07"))
		if err != nil {
			return err
		}
		for _, name := range names[:20] {
			op.Packages = append(op.Packages, imageset.Package{Name: filepath.Base(name)})
		}
		c, err := catalog.Read(tb.Context(), os.DirFS(dir), catalog.Options{Keep: func(name string) bool {
			return slices.ContainsFunc(op.Packages, func(p imageset.Package) bool { return p.Name == name })
		}})
		if err != nil {
			return err
		}
		result, err := filter.Apply(c, op)
		if err != nil {
			return err
		}
		if err := validate.Catalog(result.Catalog); err != nil {
			return err
		}
		files, err := catalog.Files(result.Catalog)
		if err != nil {
			return err
		}
		out := tb.TempDir()
		for _, f := range files {
			name := filepath.Join(out, filepath.FromSlash(f.Path))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
			w, err := os.Create(name)
			if err != nil {
				return err
			}
			if _, err = f.WriteTo(w); errors.Join(err, w.Close()) != nil {
				return err
			}
		}
		return nil
	},
	"outline": func(tb testing.TB, dir string) error {
		_, err := catalog.Read(tb.Context(), os.DirFS(dir), catalog.Options{Keep: func(string) bool { return false }, Outline: true})
		return err
	},
	"validate": func(tb testing.TB, dir string) error {
		j := validate.NewValidator()
		c, err := catalog.Read(tb.Context(), os.DirFS(dir), j.Options())
		if err != nil {
			return err
		}
		return j.Catalog(c)
	},
	"stream": func(tb testing.TB, dir string) error {
		return catalog.Stream(tb.Context(), os.DirFS(dir), func(*catalog.Meta) error { return nil })
	},
	// Bare scans, for comparison.
	"scan with jsontext": func(_ testing.TB, dir string) error {
		return scan(dir, func(r io.Reader) error {
			d := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			for {
				if _, err := d.ReadValue(); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
	},
	"scan with encoding/json": func(_ testing.TB, dir string) error {
		return scan(dir, func(r io.Reader) error {
			d := json.NewDecoder(r)
			for {
				var raw json.RawMessage
				if err := d.Decode(&raw); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
	},
}

// scan reads every file below dir, two at a time.
func scan(dir string, read func(io.Reader) error) error {
	names, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return err
	}
	errs := make(chan error)
	for part := range 2 {
		go func() {
			errs <- func() error {
				for i := part; i < len(names); i += 2 {
					f, err := os.Open(names[i])
					if err != nil {
						return err
					}
					if err := errors.Join(read(f), f.Close()); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	return errors.Join(<-errs, <-errs)
}

// The environment variables of TestIndexTask.
const (
	taskVariable  = "GANTRY_BENCH_TASK"
	indexVariable = "GANTRY_BENCH_INDEX"
)

// TestIndexTask is run by BenchmarkIndex.
func TestIndexTask(t *testing.T) {
	task := os.Getenv(taskVariable)
	if task == "" {
		t.Skip("run by BenchmarkIndex")
	}
	if err := tasks[task](t, os.Getenv(indexVariable)); err != nil {
		t.Fatal(err)
	}
	// The kernel's value for the child starts with the parent's memory.
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		if _, err := os.Stdout.Write(status); err != nil {
			t.Fatal(err)
		}
	}
}

// highWater is the line with the peak memory of a Linux process.
var highWater = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// BenchmarkIndex reports how fast a whole index of 350 MB is read, in MB per second and in CPU
// seconds, and the peak memory of the process in MB (on Linux).
func BenchmarkIndex(b *testing.B) {
	dir := b.TempDir()
	size, packages := writeIndex(b, dir)
	b.Logf("%d packages, %d MB", len(packages), size>>20)
	var names []string
	for name := range tasks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			peak, cpu := 0, time.Duration(0)
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestIndexTask$")
				cmd.Env = append(os.Environ(), taskVariable+"="+name, indexVariable+"="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				if found := highWater.FindSubmatch(out); found != nil {
					kilobytes, err := strconv.Atoi(string(found[1]))
					if err != nil {
						b.Fatal(err)
					}
					peak = max(peak, kilobytes)
				}
			}
			b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(peak)/1024, "peak-MB")
		})
	}
}
