package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/catalog/install"
	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
)

// Access says which permissions an account does not have to install an operator. Its JSON is what gantry cluster operator install
// --check --output json prints.
type Access struct {
	Version int    `json:"version"`
	Package string `json:"package"`
	Bundle  string `json:"bundle"`
	// Account is the ServiceAccount, as NAMESPACE/NAME; "" if OLM uses none.
	Account string `json:"account"`
	// Missing are the rules to add. It is empty if the account has all permissions.
	Missing []MissingRules `json:"missing"`
	Notes   []string       `json:"notes"`
}

// MissingRules are rules of a Role in a namespace, or of a ClusterRole if there is no namespace.
type MissingRules struct {
	Namespace string      `json:"namespace,omitempty"`
	Rules     []rbac.Rule `json:"rules"`
}

// maxRoles is how many bytes of a file with roles are read.
const maxRoles = 16 << 20

// CheckAccess compares the roles and bindings of a file, or "-" for standard input, with what OLM v1
// needs to install the operator. If something is missing, it returns the result and an error of kind Mismatch.
func CheckAccess(ctx context.Context, o InstallOptions, file string) (*Access, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if o.OLM == OLMClassic {
		return nil, env.InputHint("leave Options.Check out", "OLM classic installs with its own permissions, so that no role is needed")
	}
	controller, _, err := o.controller()
	if err != nil {
		return nil, err
	}
	if !controller.UsesAccount() {
		return noAccess(ctx, e, &o, controller)
	}
	text, err := readRoles(file)
	if err != nil {
		return nil, err
	}
	policy, err := rbac.Read(text)
	if err != nil {
		return nil, env.Inputf("%s: %w", redact.Address(file), err)
	}
	// The file may be for another account, or for another namespace.
	accounts := policy.Accounts()
	if len(accounts) == 1 && (o.ServiceAccount == "" || o.ServiceAccount == accounts[0].Name) {
		o.ServiceAccount = accounts[0].Name
		o.InstallNamespace = cmp.Or(o.InstallNamespace, accounts[0].Namespace)
	}
	i, err := installOperator(ctx, e, &o)
	if err != nil {
		return nil, err
	}
	account := i.result.Account
	if len(accounts) > 0 && !slices.Contains(accounts, account) {
		return nil, env.InputHint("set Options.ServiceAccount and Options.InstallNamespace", "%s binds no role to the ServiceAccount %s, only to %s", file, account, listAccounts(accounts))
	}
	missing, unknown := i.result.Missing(policy)
	out := &Access{Version: 1, Package: i.Package, Bundle: i.Bundle, Account: account.String(), Missing: []MissingRules{}, Notes: []string{}}
	if len(accounts) == 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s has no binding of a ServiceAccount: all its roles count as bound to %s", file, account))
	}
	if note := controller.UncheckedNote(); note != "" {
		out.Notes = append(out.Notes, note)
	}
	for _, name := range unknown {
		out.Notes = append(out.Notes, fmt.Sprintf("%s binds a role that is not in %s; it counts as empty", name, file))
	}
	rules, total := missing.Roles(), 0
	for _, namespace := range missing.Namespaces() {
		if list := rules[namespace]; len(list) > 0 {
			out.Missing = append(out.Missing, MissingRules{namespace, list})
			total += len(list)
		}
	}
	if total == 0 {
		return out, nil
	}
	return out, advice.New(advice.Mismatch, "add the missing rules", "the ServiceAccount %s has not all permissions to install %s: %s missing", account, i.Bundle, env.Number(total, "rule is", "rules are"))
}

// noAccess is the result for an OLM v1 that needs no account, once the bundle is known to be one that it installs.
func noAccess(ctx context.Context, e *env.Env, o *InstallOptions, controller install.Controller) (*Access, error) {
	i, err := installOperator(ctx, e, o)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("there is nothing to check: %s installs with its own rights, and ignores the ServiceAccount and its roles", controller)
	return &Access{Version: 1, Package: i.Package, Bundle: i.Bundle, Missing: []MissingRules{}, Notes: []string{note}}, nil
}

func readRoles(file string) ([]byte, error) {
	if file == "-" {
		file = "/dev/stdin"
	}
	text, _, err := regular.ReadInput(file, maxRoles)
	return text, advice.Wrap(advice.Input, err, "")
}

func listAccounts(accounts []rbac.Account) string {
	const shown = 5
	text := ""
	for i, a := range accounts {
		if i == shown {
			return text + fmt.Sprintf(" and %d more", len(accounts)-shown)
		}
		if i > 0 {
			text += ", "
		}
		text += a.String()
	}
	return text
}

// YAML returns what is missing as Roles and ClusterRoles, as YAML documents.
func (a *Access) YAML() ([]byte, error) {
	var objects []install.Object
	for _, m := range a.Missing {
		objects = append(objects, install.Role(m.Namespace, a.Package+"-missing", m.Rules))
	}
	return install.YAML(objects)
}
