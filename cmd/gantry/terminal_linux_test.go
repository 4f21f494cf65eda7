package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal: what is written to keys is typed there.
func openTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keys, screen
}

// answered runs the program on a terminal on which each line is typed when the program
// asks for a folder.
func (w *world) answered(lines []string, args ...string) outcome {
	w.t.Helper()
	keys, screen := openTerminal(w.t)
	cmd := w.process(w.t.Context(), args...)
	cmd.Stdin = screen
	var stdout bytes.Buffer
	stderr := &typist{keys: keys, lines: lines}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	_ = cmd.Run() // its exit status is looked at
	return outcome{stdout.String(), stderr.all.String(), cmd.ProcessState.ExitCode()}
}

// A typist types the next line whenever it is asked to.
type typist struct {
	keys  io.Writer
	lines []string
	mu    sync.Mutex
	all   bytes.Buffer
	seen  int
}

func (a *typist) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Write(p)
	for n := strings.Count(a.all.String(), "Folder that has it"); a.seen < n; a.seen++ {
		line := ""
		if len(a.lines) > 0 {
			line, a.lines = a.lines[0], a.lines[1:]
		}
		if _, err := io.WriteString(a.keys, line+"\r"); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// TestAskedForMedia asks for volumes and archives that are missing, on a terminal.
func TestAskedForMedia(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.carry(1, "--volume-size", "2MB")
	m.carry(2)
	moved := m.spread("disk1", "beside")
	to := func(site string) []string {
		return []string{"mirror", m.docker("/" + site), "--workspace", m.path("at-" + site), "--from", m.disks[1]}
	}
	o := m.answered([]string{"", "never"}, to("none")...)
	if o.code != exitMismatch || !strings.Contains(o.stderr, moved[0]) {
		t.Errorf("nothing was answered, and it ended with %d\n%s", o.code, o.stderr)
	}
	o = m.answered([]string{m.path("beside")}, to("site")...)
	if o.code != exitOK {
		t.Fatalf("it ended with %d\n%s", o.code, o.stderr)
	}
	m.says(o.stderr, moved[0], moved[1], "volume 2 of ")
	m.verify("site", acme, 1)

	// An archive that builds on one which was never imported.
	o = m.answered([]string{m.disks[1], m.path("beside")}, "mirror", m.docker("/late"), "--workspace", m.path("at-late"), "--from", m.disks[2])
	if o.code != exitOK {
		t.Fatalf("it ended with %d\n%s", o.code, o.stderr)
	}
	m.says(o.stderr, "sequence 2 builds on 1, which this site never imported")
	m.verify("late", acme, 4)
}

// TestAskedForAnotherArchive is answered with the folder of an archive that is newer
// than the one that is imported.
func TestAskedForAnotherArchive(t *testing.T) {
	t.Parallel()
	m := newMonths(t)
	m.isc[3] = m.isc[1]
	m.carry(1)
	m.carry(2)
	m.carry(3)
	file := m.path("site.json")
	o := m.answered([]string{m.disks[3], m.disks[1]}, append(m.bring("site", 2), "--write-receipt", file)...)
	if o.code != exitOK {
		t.Fatalf("it ended with %d\n%s", o.code, o.stderr)
	}
	m.verify("site", acme, 4)
	if r := m.readReceipt(file); len(r.Sets) != 1 || r.Sets[0].Sequence != 2 {
		t.Errorf("sequence 2 was imported, and the receipt has %v", r.Sets)
	}
}
