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

	"github.com/gantry-mirror/gantry"
	"github.com/gantry-mirror/gantry/cmd/gantry/internal/view"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release/proof"
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
		{"archive-diff", "archive diff", gantry.ArchiveDifference{}},
		{"archive-extract", "archive extract", gantry.Extracted{}},
		{"archive-extract-files", "archive extract", gantry.ExtractedFiles{}},
		{"archive-inspect", "archive inspect", gantry.Inspection{}},
		{"archive-convert", "archive convert", gantry.ConvertedArchive{}},
		{"archive-rebuild", "archive rebuild", gantry.RebuiltArchive{}},
		{"archive-list", "archive list", gantry.ArchiveImages{}},
		{"archive-list-blobs", "archive list", gantry.ArchiveContent{}},
		{"catalog-build", "catalog build", gantry.BuiltCatalog{}},
		{"catalog-convert", "catalog convert", gantry.Converted{}},
		{"catalog-deprecate", "catalog deprecate", deprecatedDocument{}},
		{"catalog-diff", "catalog diff", catalogDiffDocument{}},
		{"catalog-filter", "catalog filter", gantry.FilterResult{}},
		{"catalog-list", "catalog list", gantry.CatalogListing{}},
		{"catalog-serve", "catalog serve", gantry.ServingCatalog{}},
		{"catalog-validate", "catalog validate", gantry.Validation{}},
		{"check", "check", view.OperatorCheck{}},
		{"check-platform", "check", proof.Report{}},
		{"config-check", "config check", gantry.ConfigCheck{}},
		{"config-convert", "config convert", gantry.ConvertedConfig{}},
		{"config-from-cluster", "config from-cluster", gantry.ConfigDraft{}},
		{"config-from-mirror", "config from-mirror", gantry.ConfigDraft{}},
		{"delete", "delete", gantry.DeletionList{}},
		{"delete-yaml-file", "delete", gantry.DeleteResult{}},
		{"diff", "diff", gantry.ContentDifference{}},
		{"doctor", "doctor", gantry.DoctorResult{}},
		{"error", "", errorDocument{}},
		{"explain", "explain", explanationDocument{}},
		{"list-catalogs", "list operators", catalogsDocument{}},
		{"list-operators", "list operators", gantry.CatalogListing{}},
		{"list-releases", "list releases", gantry.ReleaseList{}},
		{"list-versions", "list operators", versionsDocument{}},
		{"login", "login", gantry.LoginResult{}},
		{"logout", "logout", gantry.LogoutResult{}},
		{"mirror", "mirror", gantry.MirrorResult{}},
		{"mirror-dry-run", "mirror", shownPlan{}},
		{"mirror-repair", "mirror", view.Repair{}},
		{"operator-install", "operator install", gantry.OperatorInstall{}},
		{"operator-install-check", "operator install", gantry.OperatorAccess{}},
		{"plan", "plan", shownPlan{}},
		{"prune", "prune", gantry.PruneResult{}},
		{"prune-others", "prune", gantry.Unrecorded{}},
		{"pull", "pull", gantry.PulledFile{}},
		{"pull-list", "pull", gantry.FileList{}},
		{"registry-prepare", "registry prepare", gantry.PreparedRegistry{}},
		{"release-boot-images", "release boot-images", gantry.BootImageList{}},
		{"release-credentials", "release credentials", gantry.ReleaseManifestList{}},
		{"release-images", "release images", gantry.ReleaseImageList{}},
		{"release-info", "release info", gantry.ReleaseInfo{}},
		{"release-manifests", "release manifests", gantry.ReleaseManifestList{}},
		{"release-tools", "release tools", gantry.ReleaseToolList{}},
		{"resources", "resources", gantry.ResourceFiles{}},
		{"serve", "serve", view.Served{}},
		{"status", "status", gantry.WorkspaceStatus{}},
		{"status-mirror", "status", gantry.MirrorState{}},
		{"status-audit", "status --audit", gantry.AuditResult{}},
		{"verify-archive", "verify", gantry.VerifiedArchive{}},
		{"verify-layout", "verify", gantry.VerifiedLayout{}},
		{"verify-registry", "verify", gantry.VerifiedRegistry{}},
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

// madeSchemas returns the schemas of all documents as they are now.
var madeSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	all := map[string]*jsonschema.Schema{}
	comments, parsed := map[string]string{}, map[string]bool{}
	for _, d := range documents() {
		title := "gantry " + d.command
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
	if err != nil {
		t.Fatal(err)
	}
	update := os.Getenv(updateSchemaEnv) != ""
	var names []string
	for name, s := range all {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(schemaDir, name+".json")
		names = append(names, filepath.Base(file))
		text = append(text, '\n')
		if update {
			if err := errors.Join(os.MkdirAll(schemaDir, 0o755), os.WriteFile(file, text, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if published, err := os.ReadFile(file); err != nil || !bytes.Equal(published, text) {
			t.Errorf("%s is not what the program prints now (%v); set %s=1 to write it again", file, err, updateSchemaEnv)
		}
	}
	files, err := filepath.Glob(filepath.Join(schemaDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		now, err := readSchema(filepath.Join(schemaDir, filepath.Base(file)))
		if errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the schema %s was removed", filepath.Base(file))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
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
var unchecked = []string{"catalog render", "catalog init", "config init", "config schema", "archive repair-request", "graph", "completion", "help"}

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
	for _, d := range documents() {
		commands = append(commands, d.command)
	}
	if len(args) > 1 && slices.Contains(commands, args[0]+" "+args[1]) {
		return args[0] + " " + args[1], true
	}
	return args[0], !strings.HasPrefix(args[0], "-")
}
