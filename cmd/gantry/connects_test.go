package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Package remote is the only one that connects to other hosts, so that limits, credentials, redirects and
// the tests of disconnected sites cover all connections.

// connectsItself lists the folders that may connect without pkg/remote, and why.
var connectsItself = map[string]string{
	"pkg/remote":              "it connects for the others",
	"pkg/signature/sshsig":    "it connects to ssh-agent, over a socket of this machine",
	"pkg/registrytest":        "it is for tests",
	"mirror/mirrortest":       "it is for tests",
	"pkg/platform/releasetest": "it is for tests",
	"cmd/demo":                "it connects to registries that it started",
}

// connecting are the names in packages of Go with which a program connects to hosts or looks up names.
var connecting = map[string][]string{
	"net": {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "Dialer", "Resolver", "DefaultResolver",
		"LookupHost", "LookupIP", "LookupAddr", "LookupCNAME", "LookupPort", "LookupSRV", "LookupTXT", "LookupMX", "LookupNS", "ResolveTCPAddr", "ResolveUDPAddr", "ResolveIPAddr"},
	"http": {"Get", "Head", "Post", "PostForm", "Client", "DefaultClient", "Transport", "DefaultTransport"},
	"tls":  {"Dial", "DialWithDialer", "Dialer"},
}

// findConnections returns where a file connects to hosts.
func findConnections(files *token.FileSet, file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := s.X.(*ast.Ident); ok && slices.Contains(connecting[of.Name], s.Sel.Name) {
			found = append(found, files.Position(n.Pos()).String()+": "+of.Name+"."+s.Sel.Name)
		}
		return true
	})
	return found
}

func TestOnlyRemoteConnects(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	seen := 0
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (connectsItself[rel] != "" || d.Name() == "testdata" || rel != "." && (strings.HasPrefix(d.Name(), ".") || hasModule(name))):
			return fs.SkipDir
		case d.IsDir() || path.Ext(rel) != ".go" || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		for _, place := range findConnections(files, file) {
			t.Errorf("%s connects to a host: use package remote", place)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 500 {
		t.Errorf("only %d files were read", seen)
	}
}

func TestConnectionsAreFound(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "a.go", `package a
var d net.Dialer
func f() {
	http.Get("http://example.com")
	c := &http.Client{}
	net.LookupHost("example.com")
	http.NewRequest("GET", "http://example.com", nil)
	net.Listen("tcp", ":0")
}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := findConnections(files, file); len(got) != 4 {
		t.Errorf("found %q", got)
	}
}
