package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// monthlyContent returns the layers of an image in each of the months, as tar archives: a base that
// changes in some months, and a program and scripts that change in all. If GANTRY_TEST_CORPUS names a
// folder that .ci/tools/deltacorpus made, these are versions of real programs, and otherwise invented
// content that changes in similar ways.
func monthlyContent(t *testing.T, months int) [][][]byte {
	t.Helper()
	if dir := os.Getenv("GANTRY_TEST_CORPUS"); dir != "" {
		return corpusContent(t, dir, months)
	}
	random := rand.New(rand.NewPCG(18, 12))
	program, scripts, base := inventProgram(random), inventText(random, 40_000), inventText(random, 30_000)
	var all [][][]byte
	for month := range months {
		if month > 0 {
			program.change(random)
			changeText(random, scripts)
			if month%3 == 0 {
				changeText(random, base)
			}
		}
		built := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).AddDate(0, month, 0)
		all = append(all, [][]byte{
			tarOf(t, built.AddDate(0, -month%3, 0), splitText("usr/share/base", base)),
			tarOf(t, built, map[string][]byte{"usr/bin/operator": program.link()}),
			tarOf(t, built, splitText("app/scripts", scripts)),
		})
	}
	return all
}

// corpusContent returns real content. The base consists of the small packages of C and C++ programs. Every
// month, another one gets its next version.
func corpusContent(t *testing.T, dir string, months int) [][][]byte {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var corpus struct {
		Layers []struct {
			Series, Kind, Tar string
			Size              int64
		}
	}
	if err := json.Unmarshal(index, &corpus); err != nil {
		t.Fatal(err)
	}
	versions, order := map[string][]string{}, []string{}
	for _, l := range corpus.Layers {
		if l.Kind == "C/C++" && l.Size < 10e6 && len(versions[l.Series]) == 0 {
			order = append(order, l.Series)
		}
		versions[l.Series] = append(versions[l.Series], filepath.Join(dir, l.Tar))
	}
	if len(versions["crane"]) < months || len(versions["prettier"]) < months || len(order) == 0 {
		t.Fatalf("%s has %d versions of crane and %d of prettier, and %d months need as many", dir, len(versions["crane"]), len(versions["prettier"]), months)
	}
	read := func(file string) []byte {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	newer := map[string]int{}
	var all [][][]byte
	for month := range months {
		if name := order[month%len(order)]; month > 0 {
			newer[name] = min(newer[name]+1, len(versions[name])-1)
		}
		var base [][]byte
		for _, name := range order {
			base = append(base, read(versions[name][newer[name]]))
		}
		all = append(all, [][]byte{joinTars(t, base), read(versions["crane"][month]), read(versions["prettier"][month])})
	}
	return all
}

// joinTars returns one archive with the content of several.
func joinTars(t *testing.T, archives [][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, archive := range archives {
		for r := tar.NewReader(bytes.NewReader(archive)); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err == nil {
				err = w.WriteHeader(h)
			}
			if err == nil {
				_, err = io.Copy(w, r)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, at time.Time, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name])), ModTime: at})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// monthlyImage returns an image with these layers, compressed as by programs that use compress/gzip.
func monthlyImage(t *testing.T, layers [][]byte) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range layers {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
			tarball.WithCompressionLevel(gzip.DefaultCompression))
		if err == nil {
			img, err = mutate.AppendLayers(img, layer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return img
}

// An inventedProgram is like machine code: functions that call each other at relative addresses, so that
// every call across changed code changes, too.
type inventedProgram struct{ functions []inventedFunction }

type inventedFunction struct {
	id    int
	code  []byte
	calls map[int]int // the ids of functions that are called, by the offset of the address
}

func inventProgram(random *rand.Rand) *inventedProgram {
	p := &inventedProgram{}
	for id := range 4000 {
		p.functions = append(p.functions, inventFunction(random, id))
	}
	return p
}

func inventFunction(random *rand.Rand, id int) inventedFunction {
	f := inventedFunction{id: id, code: make([]byte, 64+random.IntN(900)), calls: map[int]int{}}
	for i := range f.code {
		f.code[i] = byte(random.IntN(16) * random.IntN(16)) // some bytes are frequent
	}
	for at := 16; at+4 < len(f.code); at += 40 + random.IntN(100) {
		f.calls[at] = random.IntN(id + 1)
	}
	return f
}

// change edits one function in fifty, and adds and removes some.
func (p *inventedProgram) change(random *rand.Rand) {
	for range len(p.functions) / 50 {
		f := &p.functions[random.IntN(len(p.functions))]
		at := random.IntN(len(f.code) - 8)
		for i := range 8 {
			f.code[at+i] = byte(random.IntN(256))
		}
	}
	for range 20 {
		at := random.IntN(len(p.functions))
		p.functions = append(p.functions[:at], p.functions[at+1:]...)
		at = random.IntN(len(p.functions))
		p.functions = append(p.functions[:at], append([]inventedFunction{inventFunction(random, 4000+random.IntN(1e6))}, p.functions[at:]...)...)
	}
}

// link returns the program with all addresses.
func (p *inventedProgram) link() []byte {
	address, n := map[int]int{}, 0
	for _, f := range p.functions {
		address[f.id] = n
		n += len(f.code)
	}
	program := make([]byte, 0, n)
	for _, f := range p.functions {
		start := len(program)
		program = append(program, f.code...)
		for at, id := range f.calls {
			binary.LittleEndian.PutUint32(program[start+at:], uint32(address[id]-start-at))
		}
	}
	return program
}

func inventText(random *rand.Rand, lines int) []string {
	text := make([]string, lines)
	for i := range text {
		text[i] = inventLine(random)
	}
	return text
}

func inventLine(random *rand.Rand) string {
	words := strings.Fields("const let return function if else await this null undefined true config catalog bundle image layer digest length push map filter")
	var b strings.Builder
	for range 2 + random.IntN(8) {
		fmt.Fprintf(&b, "%s_%d ", words[random.IntN(len(words))], random.IntN(300))
	}
	return b.String()
}

// changeText changes one line in a hundred.
func changeText(random *rand.Rand, text []string) {
	for range len(text) / 100 {
		text[random.IntN(len(text))] = inventLine(random)
	}
}

// splitText returns files with 500 lines each.
func splitText(folder string, text []string) map[string][]byte {
	files := map[string][]byte{}
	for i := 0; i < len(text); i += 500 {
		files[fmt.Sprintf("%s/%03d.js", folder, i/500)] = []byte(strings.Join(text[i:min(i+500, len(text))], "\n"))
	}
	return files
}
