// Package histories has no code of its own. Its tests make random histories of mirrors on one registry, and compare the
// registry with a model that knows nothing of Gantry.
package histories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/mirror/copying"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/chart/charttest"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// asRun is the environment variable with a run in JSON, for a process of its own, which can be killed.
const asRun = "GANTRY_TEST_RUN"

func TestMain(m *testing.M) {
	if text := os.Getenv(asRun); text != "" {
		os.Exit(runProcess(text))
	}
	if slices.Contains(os.Args, "-serve") { // as gantry calls the renderer of charts
		os.Exit(charttest.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	m.Run()
	if source.storage != "" {
		_ = os.RemoveAll(source.storage)
	}
}

// A run is one command of Gantry.
type run struct {
	Verb                         string // mirror, prune, list or delete
	Dir                          string
	Vars                         map[string]string
	Config, Name, To, Workspace  string
	TagUntagged, Prune, Yes      bool
	KeepLast                     int
	OlderThan                    time.Duration
	Save, Plan, Forget, ListFile string
}

// A failure is the error of a run in a process of its own.
type failure struct {
	Kind advice.Kind
	Text string
}

func (f *failure) Error() string { return f.Text }

// kindOf returns the kind of an error of a run.
func kindOf(err error) advice.Kind {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.Kind
	}
	return advice.KindOf(err)
}

// runProcess executes a run in this process, which ends then.
func runProcess(text string) (status int) {
	var r run
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		_, err = r.execute(context.Background())
	}
	if err == nil {
		return 0
	}
	_ = json.NewEncoder(os.Stdout).Encode(failure{advice.KindOf(err), env.ErrorText(err)})
	return 1
}

// execute executes a run, as a program that starts anew. It returns the result of prune.
func (r run) execute(ctx context.Context) (*removal.PruneResult, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := &env.Env{Home: r.Dir, MachineConfig: r.Dir + "/etc", HelmRenderer: program, Getenv: func(name string) string { return r.Vars[name] }}
	defer e.Close()
	switch r.Verb {
	case "mirror":
		_, err = mirroring.Run(ctx, mirroring.Options{
			Env: e, Selection: selection.Selection{Config: r.Config}, Name: r.Name, Destination: r.To, Workspace: r.Workspace,
			RegistryOptions: mirroring.RegistryOptions{Prune: r.Prune}, Rules: copying.Rules{TagUntagged: r.TagUntagged},
		})
	case "prune":
		return removal.Prune(ctx, removal.PruneOptions{
			Env: e, Mirror: r.To, Workspace: r.Workspace, Yes: r.Yes, KeepLast: r.KeepLast, OlderThan: r.OlderThan, Save: r.Save, Plan: r.Plan, Forget: r.Forget,
		})
	case "list":
		_, err = removal.ListDeletions(ctx, removal.DeletionListOptions{Env: e, Config: r.Config, Mirror: r.To, Name: r.Name, Workspace: r.Workspace})
	case "delete":
		_, err = removal.Delete(ctx, removal.DeleteOptions{Env: e, DeleteYAMLFile: r.ListFile, Mirror: r.To, Name: r.Name, Workspace: r.Workspace})
	default:
		err = fmt.Errorf("no verb %q", r.Verb)
	}
	return nil, err
}
