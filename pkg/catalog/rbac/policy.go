package rbac

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// APIGroup is the group of roles and bindings.
const APIGroup = "rbac.authorization.k8s.io"

// An Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

func (a Account) String() string { return a.Namespace + "/" + a.Name }

// A Policy has roles and bindings.
type Policy struct {
	roles    map[roleKey][]Rule
	bindings []binding
}

// A roleKey identifies a role. The namespace of a ClusterRole is Cluster.
type roleKey struct{ namespace, name string }

type binding struct {
	name     string
	in       string // the namespace in which it grants, or Cluster
	role     roleKey
	subjects []Account
}

// object is a manifest of one of the kinds that are read, or a list.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
	Rules    []Rule            `json:"rules"`
	Subjects []struct {
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"subjects"`
	RoleRef struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"roleRef"`
}

// Read reads the Roles, ClusterRoles and bindings of YAML documents or JSON, also in lists. Objects of
// other kinds are ignored. Text without any role is an error.
func Read(text []byte) (*Policy, error) {
	p := &Policy{roles: map[roleKey][]Rule{}}
	for d := yaml.NewDecoder(strings.NewReader(string(text))); ; {
		var document any
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if document == nil {
			continue
		}
		asJSON, err := json.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("a document is not an object of Kubernetes: %w", err)
		}
		if err := p.add(asJSON, 0); err != nil {
			return nil, err
		}
	}
	if len(p.roles) == 0 {
		return nil, errors.New("there is no Role and no ClusterRole")
	}
	return p, nil
}

// maxLists is how deep lists may be nested.
const maxLists = 4

func (p *Policy) add(text []byte, depth int) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("a document is not an object of Kubernetes: %w", err)
	}
	group, _, _ := strings.Cut(head.APIVersion, "/")
	if group != APIGroup && !strings.HasSuffix(head.Kind, "List") {
		return nil
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("reading a %s: %w", head.Kind, err)
	}
	switch o.Kind {
	case "Role":
		return p.addRole(roleKey{o.Metadata.Namespace, o.Metadata.Name}, &o)
	case "ClusterRole":
		return p.addRole(roleKey{Cluster, o.Metadata.Name}, &o)
	case "RoleBinding", "ClusterRoleBinding":
		return p.addBinding(&o)
	default:
		for _, item := range o.Items {
			if depth == maxLists {
				return errors.New("lists are nested too deep")
			}
			if err := p.add(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Policy) addRole(key roleKey, o *object) error {
	if o.Kind == "Role" && key.namespace == "" {
		return fmt.Errorf("the Role %s has no namespace", key.name)
	}
	if _, twice := p.roles[key]; twice {
		return fmt.Errorf("there are two %ss %s", o.Kind, strings.TrimPrefix(key.namespace+"/"+key.name, "/"))
	}
	p.roles[key] = o.Rules
	return nil
}

func (p *Policy) addBinding(o *object) error {
	switch {
	case o.Kind == "RoleBinding" && o.Metadata.Namespace == "":
		return fmt.Errorf("the RoleBinding %s has no namespace", o.Metadata.Name)
	case o.Kind == "ClusterRoleBinding" && o.RoleRef.Kind == "Role":
		return fmt.Errorf("the ClusterRoleBinding %s binds the Role %s: it can bind only a ClusterRole", o.Metadata.Name, o.RoleRef.Name)
	}
	b := binding{name: o.Kind + " " + o.Metadata.Name, role: roleKey{Cluster, o.RoleRef.Name}}
	if o.Kind == "RoleBinding" {
		b.in = o.Metadata.Namespace
		if o.RoleRef.Kind == "Role" {
			b.role.namespace = b.in
		}
	}
	for _, s := range o.Subjects {
		if s.Kind == "ServiceAccount" {
			b.subjects = append(b.subjects, Account{s.Namespace, s.Name})
		}
	}
	p.bindings = append(p.bindings, b)
	return nil
}

// Accounts returns the ServiceAccounts that have bindings, sorted.
func (p *Policy) Accounts() []Account {
	found := map[Account]bool{}
	for _, b := range p.bindings {
		for _, a := range b.subjects {
			found[a] = true
		}
	}
	return elements.Sorted(maps.Keys(found), func(a, b Account) int { return strings.Compare(a.String(), b.String()) })
}

// rules returns the rules of an account by namespace, and the bindings whose role is not in the policy.
// If no binding names a ServiceAccount, every role is as if it were bound to the account.
func (p *Policy) rules(of Account) (rules map[string][]Rule, unknown []string) {
	rules = map[string][]Rule{}
	if len(p.Accounts()) == 0 {
		for key, list := range p.roles {
			rules[key.namespace] = append(rules[key.namespace], list...)
		}
		return rules, nil
	}
	for _, b := range p.bindings {
		if !slices.Contains(b.subjects, of) {
			continue
		}
		list, ok := p.roles[b.role]
		if !ok {
			unknown = append(unknown, b.name)
		}
		rules[b.in] = append(rules[b.in], list...)
	}
	return rules, unknown
}

// Missing returns what a set has and an account is not permitted, and the bindings of the account
// whose role the policy does not contain. If no binding names a
// ServiceAccount, all roles count.
func (p *Policy) Missing(of Account, needs *Set) (missing *Set, unknown []string) {
	rules, unknown := p.rules(of)
	return needs.Without(rules), unknown
}
