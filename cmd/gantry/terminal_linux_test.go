package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// openTerminal opens a pseudoterminal: bytes written to keys are its input.
func openTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	fail.On(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	fail.On(t, err)
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keys, screen
}

// answered runs the program on a terminal and types one of the lines each time the program prints the prompt.
func (w *fixture) answered(prompt string, lines []string, args ...string) outcome {
	w.t.Helper()
	keys, screen := openTerminal(w.t)
	cmd := w.process(w.t.Context(), args...)
	cmd.Stdin = screen
	var stdout bytes.Buffer
	stderr := &typist{keys: keys, prompt: prompt, lines: lines}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	_ = cmd.Run() // the exit status is checked
	return outcome{stdout.String(), stderr.all.String(), cmd.ProcessState.ExitCode()}
}

// A typist types the next line at each prompt.
type typist struct {
	keys   io.Writer
	prompt string
	lines  []string
	mu     sync.Mutex
	all    bytes.Buffer
	seen   int
}

func (a *typist) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all.Write(p)
	for n := strings.Count(a.all.String(), a.prompt); a.seen < n; a.seen++ {
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

const folderPrompt = "Folder that has it"

// TestQuestions answers the questions of gantry init on a terminal: wrong answers are asked for again, also a name that is
// only found to be wrong when the catalog is read, and other answers stay.
func TestQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture(t, registrytest.Options{})
	file := w.path("asked.yaml")
	o := w.answered("]: ", []string{"4", "none", "registry.example.com/acme/operator-index:v4.20", "tidewatr", "images.example.net/tools/netcheck:1.4", "tidewater=fast"},
		"init", file)
	if o.code != exitOK {
		t.Fatalf("it ended with %d\n%s", o.code, o.stderr)
	}
	w.says(o.stderr, `"4" is no minor version`, `package "tidewatr" is not in `, `did you mean "tidewater"?`)
	w.says(w.read("asked.yaml"), "- name: tidewater", "- name: fast", "images.example.net/tools/netcheck:1.4")
}

// TestPromptForDisks checks that on a terminal the program prompts for missing volumes and
// archives.
func TestPromptForDisks(t *testing.T) {
	t.Parallel()
	long(t)
	m := newArchiveSeries(t)
	m.writeMonth(1, "--volume-size", "0.15MB")
	m.writeMonth(2)
	moved := m.moveVolumes("disk1", "beside")
	to := func(site string) []string {
		return []string{"mirror", m.docker("/" + site), "--workspace", m.path("at-" + site), "--from", m.disks[1]}
	}
	o := m.answered(folderPrompt, []string{"", "never"}, to("none")...)
	if o.code != exitMismatch || !strings.Contains(o.stderr, moved[0]) {
		t.Errorf("nothing was answered, and it ended with %d\n%s", o.code, o.stderr)
	}
	o = m.answered(folderPrompt, []string{m.path("besides"), "file://" + m.path("beside")}, to("site")...)
	if o.code != exitOK {
		t.Fatalf("it ended with %d\n%s", o.code, o.stderr)
	}
	m.says(o.stderr, moved[0], moved[1], "volume 2 of ", "there is no folder")
	m.verify("site", acme, 1)

	// The archive builds on one that was never imported.
	o = m.answered(folderPrompt, []string{m.disks[1], m.path("beside")}, "mirror", m.docker("/late"), "--workspace", m.path("at-late"), "--from", m.disks[2])
	if o.code != exitOK {
		t.Fatalf("it ended with %d\n%s", o.code, o.stderr)
	}
	m.says(o.stderr, "sequence 2 builds on 1, which this workspace has not imported")
	m.verify("late", acme, 4)
}

// TestColorsOnATerminal checks that problems get color on a terminal only, that NO_COLOR and
// TERM=dumb switch it off, and that the width of the terminal is known.
func TestColorsOnATerminal(t *testing.T) {
	keys, screen := openTerminal(t)
	fail.On(t, unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 66, Row: 20}))
	for _, tc := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"TERM": "xterm"}, "\x1b[31mgantry:\x1b[0m broken\r\n"},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, "gantry: broken\r\n"},
		{map[string]string{"TERM": "dumb"}, "gantry: broken\r\n"},
	} {
		a := &app{stdout: unread{screen}, stderr: screen, env: tc.env}
		if got := a.columns(); got != 66 {
			t.Errorf("%v: the terminal has %d columns, want 66", tc.env, got)
		}
		fail.On(t, a.openScreen())
		a.line("gantry: %s", "broken")
		got := make([]byte, len(tc.want))
		if _, err := io.ReadFull(keys, got); err != nil || string(got) != tc.want {
			t.Errorf("%v: %q, want %q (%v)", tc.env, got, tc.want, err)
		}
	}
	var b bytes.Buffer
	a := &app{stdout: &b, stderr: &b, env: map[string]string{"TERM": "xterm", "COLUMNS": "40"}}
	a.line("gantry: %s", "broken")
	if b.String() != "gantry: broken\n" || a.columns() != 0 {
		t.Errorf("without a terminal: %q, %d columns", b.String(), a.columns())
	}

	// Sentences are wrapped on a terminal only. One that does not know its width has the one of COLUMNS.
	const long = "a sentence that is longer than the screen, so that it has to be continued below"
	for _, tc := range []struct {
		columns uint16
		want    string
	}{
		{66, "gantry: a sentence that is longer than the screen, so that it has\r\n  to be continued below\r\n"},
		{0, "gantry: a sentence that is longer than\r\n  the screen, so that it has to be\r\n  continued below\r\n"},
	} {
		fail.On(t, unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: tc.columns, Row: 20}))
		(&app{stderr: screen, env: map[string]string{"TERM": "dumb", "COLUMNS": "40"}}).line("gantry: %s", long)
		got := make([]byte, len(tc.want))
		if _, err := io.ReadFull(keys, got); err != nil || string(got) != tc.want {
			t.Errorf("%d columns: %q, want %q (%v)", tc.columns, got, tc.want, err)
		}
	}
	b.Reset()
	a.line("gantry: %s", long)
	fail.Diff(t, "gantry: "+long+"\n", b.String())
}

// TestNextOnATerminal checks that what follows a command is printed last on a terminal, not with --quiet, and not elsewhere.
func TestNextOnATerminal(t *testing.T) {
	keys, screen := openTerminal(t)
	fail.On(t, unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 20}))
	dir, err := filepath.EvalSymlinks(t.TempDir())
	fail.On(t, err)
	t.Chdir(dir)
	fail.On(t, os.WriteFile("imageset.yaml", []byte(messageFiles["app.yaml"]), 0o600))
	run := func(w io.Writer, args ...string) {
		t.Helper()
		if code := (&app{stdout: w, stderr: w, env: map[string]string{"TERM": "dumb", "HOME": dir}}).run(args); code != exitOK {
			t.Errorf("gantry %q ended with %d", args, code)
		}
	}
	check := []string{"config", "check", "imageset.yaml"}
	run(screen, check...)
	run(screen, append(check, "-q")...)
	run(screen, check...)
	const ok = "imageset.yaml: ok\r\n"
	next := "Next:\r\n  gantry plan -c " + dir + "/imageset.yaml\r\n"
	got := make([]byte, len(ok+next+ok+ok+next))
	_, err = io.ReadFull(keys, got)
	fail.On(t, err)
	fail.Diff(t, ok+next+ok+ok+next, string(got))
	var pipe bytes.Buffer
	run(&pipe, check...)
	fail.Diff(t, "imageset.yaml: ok\n", pipe.String())
}
