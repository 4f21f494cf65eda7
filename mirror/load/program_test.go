package load

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// full is the file of the report, if the tests run in full.
func full() string { return os.Getenv("GANTRY_LOAD") }

// A program is the built program, with a folder for its files.
type program struct {
	t    *testing.T
	path string
	dir  string
}

func newProgram(t *testing.T) *program {
	t.Helper()
	return &program{t, mirrortest.Program(t), rt.TempDir(t)}
}

func (p *program) file(name string) string { return filepath.Join(p.dir, name) }

// config writes a configuration of images.
func (p *program) config(name string, images []string) {
	p.t.Helper()
	var b strings.Builder
	b.WriteString("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  additionalImages:\n")
	for _, image := range images {
		b.WriteString("  - name: " + image + "\n")
	}
	fail.On(p.t, os.WriteFile(p.file(name), []byte(b.String()), 0o600))
}

// A run is how a command ended.
type run struct {
	name   string
	code   int
	took   time.Duration
	peak   int64 // of its memory, in bytes
	output string
}

// command returns a command. Its arguments may name files in DIR.
func (p *program) command(args string) *exec.Cmd {
	fields := strings.Fields(strings.ReplaceAll(args, "DIR", p.dir))
	cmd := exec.CommandContext(p.t.Context(), p.path, fields...)
	cmd.Env = []string{"HOME=" + p.dir, "TMPDIR=" + p.dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run runs a command to its end.
func (p *program) run(name, args string) run {
	p.t.Helper()
	cmd := p.command(args)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	fail.On(p.t, cmd.Start())
	ended := make(chan struct{})
	peak := make(chan int64)
	go func() { peak <- watch(cmd.Process.Pid, ended) }()
	_ = cmd.Wait() // the exit status says more
	close(ended)
	return run{name: name, code: cmd.ProcessState.ExitCode(), took: time.Since(began), peak: <-peak, output: out.String()}
}

// watch returns the most memory that a process takes until it ends, on Linux. What wait4(2) says of it includes the memory of
// this process, since both share it for a moment.
func watch(pid int, ended <-chan struct{}) (peak int64) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
			_, rest, _ := strings.Cut(string(text), "VmHWM:")
			var n int64
			if count, _ := fmt.Sscan(rest, &n); count == 1 {
				peak = max(peak, n<<10)
			}
		case <-ended:
			return peak
		}
	}
}

// must is run for a command that has to end with 0.
func (p *program) must(name, args string) run {
	p.t.Helper()
	r := p.run(name, args)
	if r.code != 0 {
		p.t.Fatalf("%s ended with %d:\n%.4000s", name, r.code, r.output)
	}
	return r
}

var reporting sync.Mutex

// report logs text, and adds it to the report.
func report(t *testing.T, text string) {
	t.Helper()
	t.Log("\n" + text)
	if full() == "" {
		return
	}
	reporting.Lock()
	defer reporting.Unlock()
	f, err := os.OpenFile(full(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	fail.On(t, err)
	_, err = f.WriteString(text + "\n")
	fail.On(t, err)
	fail.On(t, f.Close())
}
