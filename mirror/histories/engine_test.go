package histories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// An engine makes a history happen.
type engine struct {
	*history
	dir        string
	mirror     *rt.Server
	model      *model
	vars       map[string]string
	graphData  string
	selections map[string]*selected
	records    map[target]*recorded
	foreign    foreign
	lists      lists
	read       map[digest.Digest]*gotManifest // of the mirrors
	// untagged are manifests whose repositories had no tag when garbage was collected with --delete-untagged. The registry
	// deletes their content, and keeps their entries: they are not there although its files list them.
	untagged map[place]bool
	says     func(format string, args ...any)
}

// run makes a history happen, with registries of its own that end with the test. Its error is what does not hold.
func (h *history) run(t *testing.T, says func(string, ...any)) error {
	t.Helper()
	content := source.get(t)
	from := rt.Start(t, rt.Options{Storage: content.storage})
	service := rt.Serve(t, rt.Options{}, content.releases)
	e := &engine{
		history: h, dir: rt.TempDir(t), mirror: rt.Start(t, rt.Options{Alone: true, Sparse: h.sparse}), says: says,
		model:      &model{sourceContent: content, from: from, state: state{files: map[string]int{}}, read: map[string]*gotManifest{}},
		graphData:  service.URL() + releasetest.GraphDataPath,
		selections: map[string]*selected{}, records: map[target]*recorded{}, foreign: newForeign(), lists: lists{now: map[string]digest.Digest{}, replaced: map[place]bool{}}, read: map[digest.Digest]*gotManifest{}, untagged: map[place]bool{},
	}
	e.script()
	e.vars = map[string]string{
		"CONTAINERS_REGISTRIES_CONF": e.path("registries.conf"), "HOME": e.dir,
		updates.SignatureKeyVariable: e.path("release.asc"), updates.SignatureURLVariable: service.URL() + releasetest.SignaturesPath,
		updates.UpdateURLVariable: service.URL() + releasetest.GraphPath,
	}
	if err := e.prepare(t.Context(), from); err != nil {
		return err
	}
	for i, line := range h.steps {
		s := parseStep(line)
		if err := e.step(t.Context(), &s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, line, err)
		}
	}
	return e.end(t.Context())
}

func (e *engine) path(name string) string { return filepath.Join(e.dir, name) }

func (e *engine) write(name, text string) error {
	return os.WriteFile(e.path(name), []byte(text), 0o600)
}

// prepare writes the files of the histories, and gives the tags of the source to the first versions.
func (e *engine) prepare(ctx context.Context, from *rt.Server) error {
	hosts := []string{appHost, zooHost, releaseHost}
	err := errors.Join(
		e.write("registries.conf", rt.RegistriesConf(from.Host, hosts, from.Host, e.mirror.Host)),
		e.write("release.asc", string(e.model.releases.Keys.OpenPGP)),
	)
	for n := 1; n <= 2; n++ {
		chart := charttest.Chart("web", fmt.Sprintf("%d.0.0", n), appName(n, appChoice{}))
		e.model.charts = append(e.model.charts, chart)
		err = errors.Join(err, e.write(fmt.Sprintf("web-%d.0.0.tgz", n), string(chart)))
	}
	for _, name := range []string{"one", "two"} {
		err = errors.Join(err, e.write(name, fileText(name, 0)))
	}
	for i := range apps {
		err = errors.Join(err, retag(ctx, from, appHost+"/"+appPath(i), "v1", e.model.apps[i][0]))
	}
	return errors.Join(err, retag(ctx, from, zooHost+"/zoo/index", zooTag, e.model.catalogs[0]))
}

// step executes a step, and checks what must hold after it. A step that does not apply does nothing.
func (e *engine) step(ctx context.Context, s *step) (err error) {
	switch s.verb {
	case "select":
		return e.selects(s)
	case "source":
		return e.changeSource(ctx, s)
	case "refer", "unrefer":
		return e.refer(ctx, s)
	case "foreign":
		err = e.foreigner(ctx, s)
	case "gc":
		err = e.collect(ctx, s.settings["untagged"] != "")
	case "both":
		err = e.both(ctx, s)
	default:
		err = e.command(ctx, s)
	}
	if err != nil {
		return err
	}
	return e.check(ctx, false)
}

// changeSource gives a tag of the source to the next version.
func (e *engine) changeSource(ctx context.Context, s *step) error {
	now := &e.model.state
	switch what := s.word(0); what {
	case "catalog":
		now.catalog = min(now.catalog+1, versions-1)
		return retag(ctx, e.model.from, zooHost+"/zoo/index", zooTag, e.model.catalogs[now.catalog])
	case "file":
		now.files[s.word(1)]++
		return e.write(s.word(1), fileText(s.word(1), now.files[s.word(1)]))
	case "apps":
		for i := range apps {
			if err := e.changeSource(ctx, &step{words: []string{fmt.Sprint("app", i)}}); err != nil {
				return err
			}
		}
		return nil
	default:
		i := appNumber(what)
		now.apps[i] = (now.apps[i] + 1) % versions
		return retag(ctx, e.model.from, appHost+"/"+appPath(i), "v1", e.model.apps[i][now.apps[i]])
	}
}

// appNumber returns the number of "app2" or "org/app2".
func appNumber(name string) int { return int(name[len(name)-1] - '0') }

// refer attaches something to the present version of an app at the source, or removes the last that was attached.
func (e *engine) refer(ctx context.Context, s *step) error {
	e.model.state.refers++
	i := appNumber(s.word(0))
	repository, subject := appHost+"/"+appPath(i), e.model.apps[i][e.model.state.apps[i]]
	if s.verb == "refer" {
		return attach(ctx, e.model.from, repository, subject, "late "+s.settings["n"])
	}
	list, err := readManifest(ctx, e.model.from, repository, listTag(subject))
	if err != nil || list == nil || len(list.Manifests) == 0 {
		return err
	}
	last := len(list.Manifests) - 1
	if err := e.model.from.Client().PushReferrersTag(ctx, repository, subject, list.Manifests[:last]...); err != nil {
		return err
	}
	return remove(ctx, e.model.from, repository, list.Manifests[last].Digest)
}

// collect lets the registry of the mirrors collect garbage.
func (e *engine) collect(ctx context.Context, untagged bool) error {
	all, err := e.mirror.Repositories(".")
	if err != nil || len(all) == 0 {
		return err // the program refuses an empty storage
	}
	if err := e.mirror.CollectGarbage(ctx, untagged); err != nil {
		return err
	}
	if untagged {
		for _, r := range all {
			for _, d := range r.Manifests {
				if len(r.Tags) == 0 {
					e.untagged[place{r.Name, d}] = true
				}
			}
		}
		return e.foreign.lose(ctx, e.mirror)
	}
	return nil
}

// newRun returns a run of a step.
func (e *engine) newRun(verb, set, prefix, workspace string) run {
	return run{
		Verb: verb, Dir: e.dir, Vars: e.vars, Config: e.path(set + ".yaml"), Name: set, To: env.RegistryScheme + e.mirror.Host + "/" + prefix,
		Workspace: e.path(workspace), TagUntagged: e.tagged, Yes: true,
	}
}

// An outcome is how a run ended.
type outcome int

const (
	done outcome = iota
	killed
	locked  // another run uses the workspace or the mirror
	refused // the error is one that this run may have
)

// execute executes a run, which may be killed. Its error is one that is not among those that the run may have.
func (e *engine) execute(ctx context.Context, r run, s *step, may ...advice.Kind) (outcome, error) {
	var err error
	if at := s.number("kill"); at > 0 {
		err = e.kill(ctx, r, at, s.settings["served"] != "")
	}
	if s.number("kill") == 0 || isUnknownSet(err) {
		_, err = e.sure(ctx, r)
	}
	how, err := ended(err, may)
	e.says("%s %s %s: %v", r.Verb, r.Name, r.To, how)
	return how, err
}

// ended returns the outcome of an error.
func ended(err error, may []advice.Kind) (outcome, error) {
	if err == nil {
		return done, nil
	}
	if errors.Is(err, errKilled) {
		return killed, nil
	}
	for _, kind := range may {
		if kindOf(err) == kind {
			if kind == advice.Locked {
				return locked, nil
			}
			return refused, nil
		}
	}
	return refused, errors.New(env.ErrorText(err))
}

var errKilled = errors.New("killed")

// process returns the command of a run in a process of its own, and a function that executes it.
func (r run) process(ctx context.Context) (*exec.Cmd, func() error) {
	program, err := os.Executable()
	text, jsonErr := json.Marshal(r)
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), asRun+"="+string(text))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	return cmd, func() error {
		if err := errors.Join(err, jsonErr); err != nil {
			return err
		}
		ended := cmd.Wait()
		var f failure
		switch {
		case ended == nil:
			return nil
		case strings.Contains(ended.Error(), "killed"):
			return errKilled
		case json.Unmarshal(stdout.Bytes(), &f) == nil:
			return &f
		}
		return fmt.Errorf("%w\n%s", ended, &stderr)
	}
}

// kill executes a run in a process, and kills it at a request to the mirror, which the registry gets if served is true.
func (e *engine) kill(ctx context.Context, r run, at int, served bool) error {
	cmd, wait := r.process(ctx)
	started := make(chan struct{})
	e.script(rt.Rule{Nth: at, Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		<-started
		_ = cmd.Process.Kill()
		if served {
			e.lists.serve(w, r, next)
		}
		rt.Reset()(w, r, next)
	}})
	err := cmd.Start()
	close(started)
	if err == nil {
		err = wait()
	}
	e.mirror.Shut() // ends the requests that the registry still works on
	e.mirror.Open()
	e.script()
	return err
}

// both executes two runs at the same time, each in a process of its own.
func (e *engine) both(ctx context.Context, s *step) error {
	var runs [2]*step
	var results [2]error
	for i, line := range strings.Split(strings.Join(s.words, " "), " / ") {
		one := parseStep(line)
		one.settings = s.settings
		runs[i] = &one
	}
	var commands sync.WaitGroup
	var after [2]func(outcome) error
	var started [2]run
	for i, one := range runs {
		c, err := e.begin(ctx, one)
		if err != nil {
			return err
		}
		after[i], started[i] = c.after, c.run
		if c.skip {
			continue
		}
		cmd, wait := c.run.process(ctx)
		if err := cmd.Start(); err != nil {
			return err
		}
		commands.Go(func() { results[i] = wait() })
	}
	commands.Wait()
	for i := range runs {
		if isUnknownSet(results[i]) {
			_, results[i] = e.sure(ctx, started[i])
		}
		how, err := ended(results[i], []advice.Kind{advice.Locked})
		if err != nil {
			return fmt.Errorf("%s %v: %w", runs[i].verb, runs[i].words, err)
		}
		e.says("%s %v: %v", runs[i].verb, runs[i].words, how)
		if after[i] != nil {
			if err := after[i](how); err != nil {
				return err
			}
		}
	}
	return nil
}
