// Package renderer renders charts with gantry-helm, a program beside gantry that contains Helm's engine.
//
// Find finds the program. A Renderer starts it when the first chart is rendered, and gives it one chart
// after the other over pipes (package render has the messages). A chart is the program of a stranger:
// the process gets an empty environment, has neither network nor credentials to use, and ends itself
// when a chart needs too much memory or time. The Renderer ends it, too, when its context ends, when it
// does not answer in time, and when its answer is not what was asked for.
package renderer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// Program is the name of the program that renders charts.
const Program = "gantry-helm"

// The default limits of rendering one chart.
const (
	defaultMemory = 1 << 30 // bytes
	defaultTime   = time.Minute
)

// SpareTime is how long the process may take beyond the limit that it enforces itself.
const SpareTime = 10 * time.Second

// A MissingError means that the program that renders charts was not found.
type MissingError struct{ cause error }

func (e *MissingError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("charts are rendered by a second program, which cannot be run: %v", e.cause)
	}
	return "charts are rendered by a second program, " + Program + ", which is neither beside gantry nor in PATH"
}

func (e *MissingError) Unwrap() error { return e.cause }

// Advice returns how to get the program.
func (e *MissingError) Advice() (advice.Kind, string) {
	return advice.Input, "build both with \"make build\" and keep " + Program + " beside gantry, or set Options.HelmRenderer to its path"
}

// Find returns the path of the program: override if it is set, or else the program beside the running
// one, or in PATH. The error is a *MissingError.
func Find(override string) (string, error) {
	if override != "" {
		path, err := exec.LookPath(override)
		if err != nil {
			return "", &MissingError{err}
		}
		return path, nil
	}
	name := Program
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(Program)
	if err != nil {
		return "", &MissingError{}
	}
	return path, nil
}

// Options change a Renderer.
type Options struct {
	// Memory in bytes and Time limit the rendering of one chart; 0 means the defaults.
	Memory int64
	Time   time.Duration
	// Args and Env replace the arguments before the options, and the environment, of the program.
	// They are for tests.
	Args, Env []string
}

// A Renderer renders charts one after the other.
type Renderer struct {
	path string
	o    Options

	mu      sync.Mutex // held while a chart is rendered
	process *process   // nil until one is needed
}

// New returns a Renderer that runs the program at path. Close ends it.
func New(path string, o Options) *Renderer {
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.Time = cmp.Or(o.Time, defaultTime)
	return &Renderer{path: path, o: o}
}

// Close ends the program.
func (r *Renderer) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.discard()
}

// discard ends the process. mu is held.
func (r *Renderer) discard() {
	if r.process != nil {
		r.process.kill()
		r.process = nil
	}
}

// Render renders a chart. The error is a *render.Error if the chart or what is set for it is wrong.
func (r *Renderer) Render(ctx context.Context, request render.Request) (*render.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if r.process == nil {
		p, err := r.start(ctx)
		if err != nil {
			return nil, &MissingError{err}
		}
		r.process = p
	}
	p := r.process
	limited, cancel := context.WithTimeoutCause(ctx, r.o.Time+SpareTime, errTime)
	defer cancel()
	stop := context.AfterFunc(limited, p.interrupt)
	request.Version = render.ProtocolVersion
	response, err := p.exchange(&request)
	if !stop() {
		err = context.Cause(limited)
	}
	if err == nil && response.Version != render.ProtocolVersion {
		r.discard()
		return nil, advice.New(advice.Input, "use the gantry-helm that was built with this gantry", "%s is of another version of gantry", r.path)
	}
	if err != nil {
		r.process = nil
		return nil, r.explain(ctx, p, err)
	}
	if response.Error != nil {
		return nil, response.Error
	}
	return response, nil
}

// errTime means that the process did not end itself in time.
var errTime = errors.New("no answer in time")

// explain returns why an exchange failed, after the process has ended.
func (r *Renderer) explain(ctx context.Context, p *process, err error) error {
	status, said := p.kill(), p.errors.String()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case status == render.ExitTime, errors.Is(err, errTime):
		return &render.Error{Kind: render.ChartError, Message: fmt.Sprintf("rendering takes more than %s", r.o.Time)}
	case status == render.ExitMemory, strings.Contains(said, "out of memory"), strings.Contains(said, "cannot allocate memory"):
		return &render.Error{Kind: render.ChartError, Message: fmt.Sprintf("rendering needs more than %d MB of memory", r.o.Memory>>20)}
	case strings.Contains(said, "stack overflow"), strings.Contains(said, "stack exceeds"):
		return &render.Error{Kind: render.ChartError, Message: "its templates or values nest without end"}
	case errors.Is(err, errTooLong):
		return &render.Error{Kind: render.ChartError, Message: err.Error()}
	}
	if strings.TrimSpace(said) == "" {
		return advice.New(advice.Failure, "make sure that it is "+Program+" of this version of gantry", "rendering with %s: it ended with status %d and without an answer", r.path, status)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return fmt.Errorf("rendering with %s: it ended with status %d: %s", r.path, status, first)
}

// A process is the program while it runs.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *limitedOutput
	answer *json.Decoder
	errors *errorText

	end    sync.Once
	status int
}

// start starts the program.
func (r *Renderer) start(ctx context.Context) (*process, error) {
	args := append(append([]string{}, r.o.Args...), "-serve", "-memory", strconv.FormatInt(r.o.Memory, 10), "-time", r.o.Time.String())
	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.path, args...) // it serves several calls
	cmd.Env = append([]string{"PATH="}, r.o.Env...)
	if root := os.Getenv("SYSTEMROOT"); root != "" { // Windows starts no program without it
		cmd.Env = append(cmd.Env, "SYSTEMROOT="+root)
	}
	p := &process{cmd: cmd, errors: &errorText{}}
	cmd.Stderr = p.errors
	cmd.WaitDelay = 2 * time.Second
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = &limitedOutput{r: out}
	p.answer = json.NewDecoder(p.out)
	return p, cmd.Start()
}

// exchange sends a request and reads the response.
func (p *process) exchange(request *render.Request) (*render.Response, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("writing a request: %w", err)
	}
	if len(text) > render.MaxRequest {
		return nil, fmt.Errorf("the chart and its values have %d bytes: %w", len(text), errTooLong)
	}
	p.out.left = render.MaxResponse
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("writing a request: %w", err)
	}
	response := new(render.Response)
	if err := p.answer.Decode(response); err != nil {
		return nil, fmt.Errorf("reading a response: %w", err)
	}
	return response, nil
}

// interrupt makes an exchange fail.
func (p *process) interrupt() { _ = p.cmd.Process.Kill() } // it may have ended

// kill ends the process and returns its exit status, -1 if it was killed.
func (p *process) kill() int {
	p.end.Do(func() {
		_ = p.in.Close() // it ends by itself, unless it is busy
		timer := time.AfterFunc(time.Second, p.interrupt)
		_ = p.cmd.Wait() // the status says how it ended
		timer.Stop()
		p.status = p.cmd.ProcessState.ExitCode()
	})
	return p.status
}

// errTooLong means that a message is longer than allowed.
var errTooLong = errors.New("that is too much to render")

// limitedOutput reads at most left bytes.
type limitedOutput struct {
	r    io.Reader
	left int64
}

func (l *limitedOutput) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

// An errorText keeps the first bytes of what the program writes to its standard error.
type errorText struct {
	mu   sync.Mutex
	text []byte
}

// maxErrors is how many bytes of the standard error are kept.
const maxErrors = 8 << 10

func (t *errorText) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[:min(len(b), maxErrors-len(t.text))]...)
	return len(b), nil
}

func (t *errorText) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
