package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/gantry-mirror/gantry/archive/foreign"
	"github.com/gantry-mirror/gantry/archive/inspect"
	"github.com/gantry-mirror/gantry/archive/rebuild"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/extract"
	"github.com/gantry-mirror/gantry/mirror/mirroring"
	"github.com/gantry-mirror/gantry/mirror/pull"
	"github.com/gantry-mirror/gantry/mirror/releases"
	"github.com/gantry-mirror/gantry/mirror/removal"
	"github.com/gantry-mirror/gantry/mirror/report"
	"github.com/gantry-mirror/gantry/mirror/repositories"
	"github.com/gantry-mirror/gantry/mirror/verify"
	"github.com/gantry-mirror/gantry/pkg/authoring"
	"github.com/gantry-mirror/gantry/pkg/cluster/operator"
	"github.com/gantry-mirror/gantry/pkg/config"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/cluster"
	"github.com/gantry-mirror/gantry/plan/listing"
	"github.com/gantry-mirror/gantry/plan/proof"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/starting"
)

// The published schemas, and those that published ones must stay compatible with.
const (
	schemaDir       = "../../docs/schemas"
	earlierSchemas  = "../../testdata/compat/schemas"
	updateSchemaEnv = "GANTRY_TEST_UPDATE_SCHEMAS"
)

// A document is what a command prints as JSON.
type document struct {
	name    string // of the file in docs/schemas
	command string
	value   any
}

// documents returns what all commands print as JSON. Commands that print objects of others (catalog render,
// catalog init, config init, config schema, archive repair-request, graph) are not in the list.
func documents() []document {
	return []document{
		{"archive-diff", "archive diff", inspect.ArchiveDifference{}},
		{"archive-extract", "archive extract", extract.Extracted{}},
		{"archive-extract-files", "archive extract", extract.ExtractedFiles{}},
		{"archive-inspect", "archive inspect", inspect.Inspection{}},
		{"archive-convert", "archive convert", foreign.ConvertedArchive{}},
		{"archive-rebuild", "archive rebuild", rebuild.Result{}},
		{"archive-list", "archive list", inspect.ArchiveImages{}},
		{"archive-list-blobs", "archive list", inspect.ArchiveContent{}},
		{"catalog-build", "catalog build", authoring.BuiltCatalog{}},
		{"catalog-convert", "catalog convert", authoring.Converted{}},
		{"catalog-deprecate", "catalog deprecate", deprecatedDocument{}},
		{"catalog-diff", "catalog diff", catalogDiffDocument{}},
		{"catalog-filter", "catalog filter", authoring.FilterResult{}},
		{"catalog-list", "catalog list", listing.CatalogListing{}},
		{"catalog-serve", "catalog serve", authoring.ServingCatalog{}},
		{"catalog-validate", "catalog validate", authoring.Validation{}},
		{"check", "check", view.OperatorCheck{}},
		{"check-platform", "check", proof.Report{}},
		{"config-check", "config check", config.Checked{}},
		{"config-convert", "config convert", selection.ConvertedConfig{}},
		{"config-from-cluster", "config from-cluster", config.Draft{}},
		{"config-from-mirror", "config from-mirror", config.Draft{}},
		{"delete", "delete", removal.DeletionList{}},
		{"delete-yaml-file", "delete", removal.DeleteResult{}},
		{"diff", "diff", report.ContentDifference{}},
		{"doctor", "doctor", registry.DoctorResult{}},
		{"error", "", errorDocument{}},
		{"explain", "explain", explanationDocument{}},
		{"init", "init", starting.Result{}},
		{"list", "list bundles", contents.List{}},
		{"list", "list catalogs", contents.List{}},
		{"list", "list channels", contents.List{}},
		{"list", "list charts", contents.List{}},
		{"list", "list files", contents.List{}},
		{"list", "list images", contents.List{}},
		{"list", "list packages", contents.List{}},
		{"list", "list releases", contents.List{}},
		{"list-catalogs", "list operators", catalogsDocument{}},
		{"list-operators", "list operators", listing.CatalogListing{}},
		{"list-releases", "list releases", releases.ReleaseList{}},
		{"list-versions", "list operators", versionsDocument{}},
		{"login", "login", registry.LoginResult{}},
		{"logout", "logout", registry.LogoutResult{}},
		{"mirror", "mirror", mirroring.Result{}},
		{"mirror-dry-run", "mirror", shownPlan{}},
		{"mirror-repair", "mirror", view.Repair{}},
		{"operator-install", "operator install", operator.Install{}},
		{"operator-install-check", "operator install", operator.Access{}},
		{"plan", "plan", shownPlan{}},
		{"prune", "prune", removal.PruneResult{}},
		{"prune-others", "prune", removal.Unrecorded{}},
		{"pull", "pull", pull.PulledFile{}},
		{"pull-list", "pull", pull.FileList{}},
		{"registry-prepare", "registry prepare", repositories.Prepared{}},
		{"release-boot-images", "release boot-images", releases.BootImageList{}},
		{"release-credentials", "release credentials", releases.ReleaseManifestList{}},
		{"release-images", "release images", releases.ReleaseImageList{}},
		{"release-info", "release info", releases.ReleaseInfo{}},
		{"release-manifests", "release manifests", releases.ReleaseManifestList{}},
		{"release-tools", "release tools", releases.ReleaseToolList{}},
		{"resources", "resources", cluster.ResourceFiles{}},
		{"serve", "serve", view.Served{}},
		{"status", "status", workspace.StatusReport{}},
		{"status-mirror", "status", report.MirrorState{}},
		{"status-audit", "status --audit", workspace.AuditResult{}},
		{"verify-archive", "verify", verify.VerifiedArchive{}},
		{"verify-layout", "verify", verify.VerifiedLayout{}},
		{"verify-registry", "verify", verify.VerifiedRegistry{}},
		{"version", "version", versionDocument{}},
	}
}

// specialSchemas returns the schemas of types that write their JSON themselves.
func specialSchemas() map[reflect.Type]*jsonschema.Schema {
	object := func(text string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Description: text}
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[imageset.Config]():   object("An ImageSetConfiguration; gantry config schema prints its schema."),
		reflect.TypeFor[imageset.Operator](): object("A catalog of an ImageSetConfiguration."),
		reflect.TypeFor[imageset.Image]():    object("An image of an ImageSetConfiguration."),
	}
}

// currentName returns a command by its current name.
func currentName(command string) string {
	verb, rest, _ := strings.Cut(command, " ")
	for _, v := range (&app{}).verbs() {
		if v.name == verb && v.now != "" {
			return strings.TrimSpace(v.now + " " + rest)
		}
	}
	return command
}

// madeSchemas returns the schemas of all documents as they are now.
var madeSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	all := map[string]*jsonschema.Schema{}
	comments, parsed := map[string]string{}, map[string]bool{}
	for _, d := range documents() {
		title := "gantry " + currentName(d.command)
		if d.name == "list" { // for several commands
			title = "gantry list"
		}
		if d.command == "" {
			title = "errors of gantry"
		}
		s, err := makeSchema(title, reflect.TypeOf(d.value), specialSchemas(), comments, parsed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		all[d.name] = s
	}
	return all, nil
})

// TestSchemas compares the published schemas with the types that the commands print.
func TestSchemas(t *testing.T) {
	all, err := madeSchemas()
	fail.On(t, err)
	update := os.Getenv(updateSchemaEnv) != ""
	var names []string
	for name, s := range all {
		text, err := json.MarshalIndent(s, "", "  ")
		fail.On(t, err)
		file := filepath.Join(schemaDir, name+".json")
		names = append(names, filepath.Base(file))
		text = append(text, '\n')
		if update {
			fail.On(t, errors.Join(os.MkdirAll(schemaDir, 0o755), os.WriteFile(file, text, 0o644)))
		}
		if published, err := os.ReadFile(file); err != nil || !bytes.Equal(published, text) {
			t.Errorf("%s is not what the program prints now (%v); set %s=1 to write it again", file, err, updateSchemaEnv)
		}
	}
	files, err := filepath.Glob(filepath.Join(schemaDir, "*.json"))
	fail.On(t, err)
	for _, f := range files {
		if !slices.Contains(names, filepath.Base(f)) {
			t.Errorf("%s is the schema of no document", f)
		}
	}
}

// TestSchemasStayCompatible compares the schemas with those of earlier versions: what programs read with an
// earlier schema, they must be able to read now.
func TestSchemasStayCompatible(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(earlierSchemas, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no earlier schemas: %v", err)
	}
	for _, file := range files {
		before, err := readSchema(file)
		fail.On(t, err)
		now, err := readSchema(filepath.Join(schemaDir, filepath.Base(file)))
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the schema %s was removed", filepath.Base(file))
			continue
		}
		fail.On(t, err)
		for _, change := range breakingChanges(before, now) {
			t.Errorf("%s: %s", filepath.Base(file), change)
		}
	}
}

func readSchema(file string) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &jsonschema.Schema{}
	return s, json.Unmarshal(text, s)
}

// strictSchemas returns the schemas of a command, which here refuse members that they do not name.
var strictSchemas = sync.OnceValues(func() (map[string][]*jsonschema.Resolved, error) {
	all, err := madeSchemas()
	if err != nil {
		return nil, err
	}
	byCommand := map[string][]*jsonschema.Resolved{}
	for _, d := range documents() {
		s := all[d.name].CloneSchemas()
		strict(s)
		r, err := s.Resolve(nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		byCommand[d.command] = append(byCommand[d.command], r)
	}
	return byCommand, nil
})

// unchecked are the commands whose JSON is not a document of Gantry.
var unchecked = []string{"catalog render", "catalog init", "config init", "config schema", "archive repair-request", "graph", "catalog graph", "release graph", "plan sbom", "completion", "help"}

// TestEveryCommandHasSchema checks that a document describes the JSON of every command.
func TestEveryCommandHasSchema(t *testing.T) {
	t.Parallel()
	known := slices.Clone(unchecked)
	for _, d := range documents() {
		known = append(known, d.command, currentName(d.command))
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if c.Runnable() && !c.HasSubCommands() && path != "" && !c.DisableFlagParsing && !slices.Contains(known, path) {
			t.Errorf("gantry %s has no line in documents, or in unchecked", path)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk((&app{}).command(everyVerb))
}

// checkOutput returns an error if a command printed JSON that its schemas do not describe. Tests that run
// commands call it, so that every output in every test is checked.
func checkOutput(args []string, stdout []byte) error {
	command, ok := jsonCommand(args)
	if !ok || slices.Contains(unchecked, command) {
		return nil
	}
	text := bytes.TrimSpace(stdout)
	if len(text) == 0 || text[0] != '{' {
		return nil // an error, or text
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&value); err != nil || d.More() {
		return nil //nolint:nilerr // the output was cut off, or has several objects
	}
	if err := checkFormerKeys(value); err != nil {
		return fmt.Errorf("the output of gantry %s: %w", command, err)
	}
	byCommand, err := strictSchemas()
	if err != nil {
		return err
	}
	schemas := byCommand[command]
	if len(schemas) == 0 {
		return fmt.Errorf("gantry %s prints JSON, and documents in schemas_test.go has no document for it", command)
	}
	var refused []error
	for _, s := range schemas {
		err := s.Validate(value)
		if err == nil {
			return nil
		}
		refused = append(refused, err)
	}
	return fmt.Errorf("the output of gantry %s does not match its schema: %w", command, errors.Join(refused...))
}

// checkFormerKeys returns an error if a deprecated key is not beside its new one, with the same value.
func checkFormerKeys(value any) error {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if err := checkFormerKeys(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, former := range map[string]string{"revision": "turn", "revisions": "turns", "newRevision": "newTurn"} {
			if !reflect.DeepEqual(v[key], v[former]) {
				return fmt.Errorf("%s is %v, and %s is %v", key, v[key], former, v[former])
			}
		}
		for _, member := range v {
			if err := checkFormerKeys(member); err != nil {
				return err
			}
		}
	}
	return nil
}

// jsonCommand returns the command of a command line that asks for JSON.
func jsonCommand(args []string) (string, bool) {
	wanted := false
	for i, arg := range args {
		switch {
		case arg == "-o=json", arg == "-ojson", arg == "--output=json", (arg == "-o" || arg == "--output") && i+1 < len(args) && args[i+1] == outputJSON:
			wanted = true
		case arg == "--":
			return "", false
		}
	}
	if !wanted || len(args) == 0 {
		return "", false
	}
	commands := slices.Clone(unchecked)
	commands = append(commands, elements.Map(documents(), func(d document) string { return d.command })...)
	if len(args) > 1 && slices.Contains(commands, args[0]+" "+args[1]) {
		return args[0] + " " + args[1], true
	}
	return args[0], !strings.HasPrefix(args[0], "-")
}
