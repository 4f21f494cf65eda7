package zlib_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/delta/recompress/zlib"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

// A library is the zlib library of this machine.
type library struct {
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	version string
}

// startLibrary starts testdata/deflate.py. It skips the test if Python or zlib are missing.
// GANTRY_TEST_ZLIB is the file name of another zlib.
func startLibrary(t *testing.T) *library {
	t.Helper()
	arguments := []string{"testdata/deflate.py"}
	if name := os.Getenv("GANTRY_TEST_ZLIB"); name != "" {
		arguments = append(arguments, name)
	}
	command := exec.CommandContext(t.Context(), "python3", arguments...)
	stdin, err := command.StdinPipe()
	fail.On(t, err)
	stdout, err := command.StdoutPipe()
	fail.On(t, err)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	if err := command.Start(); err != nil {
		t.Skip("needs python3:", err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = command.Wait()
	})
	l := &library{stdin: stdin, stdout: bufio.NewReaderSize(stdout, 1<<20)}
	l.version, err = l.stdout.ReadString('\n')
	if err != nil {
		t.Skip("needs the zlib library:", complaint.String())
	}
	l.version = strings.TrimSpace(l.version)
	return l
}

func (l *library) compress(t *testing.T, o zlib.Options, data []byte, flush ...int) []byte {
	t.Helper()
	memory := o.MemoryLevel
	if memory == 0 {
		memory = 8
	}
	line, err := json.Marshal(map[string]any{
		"level": o.Level, "memory": memory, "write": o.WriteSize, "output": o.OutputSize,
		"flush": append([]int{}, flush...), "size": len(data),
	})
	fail.On(t, err)
	_, err = l.stdin.Write(append(append(line, '\n'), data...))
	fail.On(t, err)
	answer, err := l.stdout.ReadString('\n')
	fail.On(t, err)
	size, err := strconv.Atoi(strings.TrimSpace(answer))
	fail.On(t, err)
	result := make([]byte, size)
	_, err = io.ReadFull(l.stdout, result)
	fail.On(t, err)
	return result
}

// runProgram compresses with pigz or gzip, and returns the stream without header and trailer.
// It skips the test if the program is missing.
func runProgram(t *testing.T, o zlib.Options, data []byte) []byte {
	t.Helper()
	path, err := exec.LookPath(string(o.Program))
	if err != nil {
		t.Skip("needs", o.Program)
	}
	arguments := []string{"-n", "-c", fmt.Sprintf("-%d", o.Level)}
	if o.Program == zlib.Pigz {
		arguments = append(arguments, "-p", "2")
	}
	if o.Sequential {
		arguments[len(arguments)-1] = "1"
	}
	if o.Independent {
		arguments = append(arguments, "-i")
	}
	if o.BlockSize > 0 {
		arguments = append(arguments, "-b", strconv.Itoa(o.BlockSize>>10))
	}
	command := exec.CommandContext(t.Context(), path, arguments...)
	command.Stdin = bytes.NewReader(data)
	out, err := command.Output()
	if err != nil {
		t.Fatal(path, err)
	}
	return out[10 : len(out)-8]
}

// compress compresses with this package, in writes of different sizes, and flushes at the
// positions given.
func compress(t *testing.T, o zlib.Options, data []byte, flush ...int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zlib.NewWriter(&out, o)
	fail.On(t, err)
	random := newRandom(uint64(len(data)))
	start := 0
	for _, end := range append(flush, len(data)) {
		for start < end {
			n := min(1+random.IntN(100_000), end-start)
			_, err := w.Write(data[start : start+n])
			fail.On(t, err)
			start += n
		}
		if len(flush) > 0 && end == flush[0] {
			flush = flush[1:]
			fail.On(t, w.Flush())
		}
	}
	fail.On(t, w.Close())
	return out.Bytes()
}

func compare(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	t.Errorf("%s: %d bytes instead of %d, different from byte %d on", what, len(got), len(want), n)
}
