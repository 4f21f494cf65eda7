package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"weak"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/resources"
)

// decodedRecords are what Records read from a file.
type decodedRecords struct {
	file    fs.FileInfo
	records weak.Pointer[map[string]Record] // while the memory is not needed for something else
}

// Records returns what was saved of a mirror, by image set. The records are shared with other callers,
// who must not change them; the map is the caller's. A run asks often, so the file is only decoded again
// after it was written, or if the memory was needed.
func (w *Workspace) Records(mirror string) (map[string]Record, error) {
	file, err := w.disk.Root.Stat(recordFile(mirror))
	if last := w.decoded[mirror]; err == nil && last.file != nil && os.SameFile(file, last.file) && file.ModTime().Equal(last.file.ModTime()) {
		if all := last.records.Value(); all != nil {
			return maps.Clone(*all), nil
		}
	}
	all := map[string]Record{}
	err = w.eachRecord(mirror, func(name string, text io.Reader) error {
		r, err := readRecord(json.NewDecoder(text))
		all[name] = r
		return err
	})
	if err != nil {
		return nil, err
	}
	if w.decoded == nil {
		w.decoded = map[string]decodedRecords{}
	}
	w.decoded[mirror] = decodedRecords{file, weak.Make(&all)}
	return maps.Clone(all), nil
}

// CatalogNames returns the names that catalogs have in the cluster resources of all mirrors that the
// workspace in dir knows. It does not lock the workspace, which need not exist.
func CatalogNames(dir string) ([]resources.CatalogName, error) {
	return readIfExists(dir, (*Workspace).catalogNames)
}

// readIfExists is readUnlocked for a workspace that need not exist.
func readIfExists[T any](dir string, read func(*Workspace) (T, error)) (value T, err error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return value, nil
	}
	err = readUnlocked(dir, func(w *Workspace) (err error) {
		value, err = read(w)
		return err
	})
	return value, err
}

// readUnlocked reads from the workspace in dir without locking it. A run may replace a file and its
// checksum in between, so that read is called again if a file looks altered.
func readUnlocked(dir string, read func(*Workspace) error) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return advice.Wrap(advice.Input, fmt.Errorf("opening workspace %s: %w", dir, err), "set Options.Workspace to its folder")
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	w := &Workspace{dir: dir, disk: durable.Folder{Root: root}}
	for try := 0; ; try++ {
		if w.sums, err = readChecksums(w.disk); err != nil {
			return err
		}
		if err = read(w); err == nil || try == 2 || !errors.Is(err, errAltered) {
			return err
		}
	}
}

func (w *Workspace) catalogNames() ([]resources.CatalogName, error) {
	files, err := fs.Glob(w.disk.Root.FS(), "mirrors/*.json")
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, file := range files {
		err := w.eachRecord(strings.TrimSuffix(filepath.Base(file), ".json"), func(_ string, text io.Reader) error {
			r, err := readRecord(json.NewDecoder(text))
			all = append(all, Record{Names: r.Names})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return JoinNames(all...), nil
}

// eachRecord calls read with the JSON of each record of a mirror. Records may be large, so the text is not in memory as a
// whole.
func (w *Workspace) eachRecord(mirror string, read func(name string, text io.Reader) error) error {
	f, err := w.openState(recordFile(mirror))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(eachMember(f, read), f.Close())
	}
	if err != nil {
		return advice.Wrap(advice.Failure, fmt.Errorf("reading %s: %w", filepath.Join(w.dir, recordFile(mirror)), err),
			hintFor(err, "remove it; the next run of each configuration writes it again"))
	}
	return nil
}

// eachMember calls read for each member of the JSON object in a file.
func eachMember(f io.ReaderAt, read func(name string, text io.Reader) error) error {
	dec := jsontext.NewDecoder(io.NewSectionReader(f, 0, math.MaxInt64), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := dec.ReadToken(); err != nil {
		return err
	} else if t.Kind() != '{' {
		return fmt.Errorf("it starts with %v and is not an object", t)
	}
	for dec.PeekKind() == '"' {
		t, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name, begin := t.String(), dec.InputOffset()
		if err = dec.SkipValue(); err == nil {
			text := bufio.NewReaderSize(io.NewSectionReader(f, begin, dec.InputOffset()-begin), 64<<10)
			if _, err = text.ReadString(':'); err == nil {
				err = read(name, text)
			}
		}
		if err != nil {
			return fmt.Errorf("the record of %s: %w", name, err)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// SaveRecord saves the record of a mirror and an image set, or removes it if r is nil. The records of other image sets are
// copied as text.
func (w *Workspace) SaveRecord(mirror, name string, r *Record) error {
	return w.keep(recordFile(mirror), func(out io.Writer) error {
		return w.writeRecords(out, mirror, name, r)
	})
}

// writeRecords writes the records of a mirror with r in place of the one of an image set. If r is nil, that
// image set has none.
func (w *Workspace) writeRecords(out io.Writer, mirror, name string, r *Record) error {
	separator := "{\n"
	begin := func(name string) error {
		key, err := json.Marshal(name)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s%s:", separator, key)
		}
		separator = ",\n"
		return err
	}
	if r != nil {
		err := begin(name)
		if err == nil {
			err = r.Write(out)
		}
		if err != nil {
			return err
		}
	}
	err := w.eachRecord(mirror, func(other string, text io.Reader) error {
		if other == name {
			return nil
		}
		if err := begin(other); err != nil {
			return err
		}
		_, err := io.Copy(out, text)
		return err
	})
	if err != nil {
		return err
	}
	end := "\n}\n"
	if separator == "{\n" { // nothing is left
		end = "{}\n"
	}
	_, err = io.WriteString(out, end)
	return err
}

func recordFile(mirror string) string { return "mirrors/" + mirror + ".json" }
