package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/registry"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// loginFlags are the flags of gantry registry login.
type loginFlags struct {
	registryFlags
	user          string
	passwordStdin bool
}

const authFileHelp = "file with the credentials (default: $REGISTRY_AUTH_FILE, then the file of podman)"

func (a *app) loginCommand() *cobra.Command {
	var f loginFlags
	c := &cobra.Command{
		Use:   "login [-u USER] [--password-stdin] HOST[:PORT][/PATH]",
		Short: "Check the credentials for a registry and store them",
		Long: `Send user name and password to the registry. If it accepts them, store them in the
first of these files, which podman, skopeo and oc read, too:

  the file of --authfile
  $REGISTRY_AUTH_FILE
  $XDG_RUNTIME_DIR/containers/auth.json
  ~/.config/containers/auth.json

Other credentials in the file stay. Credentials with a path are used only for the
repositories below it; the longest path wins.

The password is read from standard input or from the terminal. There is no flag for it,
because other users of the machine could see it.

` + exitCodes(map[int]string{exitUnauthorized: "the registry refused the credentials"}),
		Example: `  gantry registry login mirror.example.com:5000
  gantry registry login -u robot --password-stdin quay.io/org < token
  gantry registry login --authfile auth.json -u robot --password-stdin registry.redhat.io < token`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.login(cmd.Context(), &f, args[0], cmd.InOrStdin())
		},
	}
	c.Flags().StringVar(&f.AuthFile, "authfile", "", authFileHelp)
	c.Flags().StringVarP(&f.user, "username", "u", "", "user name")
	c.Flags().BoolVar(&f.passwordStdin, "password-stdin", false, "read the password from standard input")
	c.Flags().StringVar(&f.CertDir, "cert-dir", "", "folder with CAs (*.crt) and client certificates (*.cert, *.key)")
	verifyFlag(c.Flags(), &f.Source.SkipTLSVerify, "tls-verify", "check the registry's certificate; false also allows plain HTTP")
	c.Flags().BoolVar(&f.Source.PlainHTTP, "plain-http", false, "speak plain HTTP")
	return c
}

func (a *app) login(ctx context.Context, f *loginFlags, host string, in io.Reader) error {
	f.RetryTimes = 2 // someone waits
	result, err := registry.Login(ctx, registry.LoginOptions{
		Env:      a.environment(&f.registryFlags),
		Registry: host,
		Ask:      func() (keychain.Credential, error) { return a.askCredential(f, in) },
	})
	if err != nil {
		return err
	}
	if !result.Checked {
		a.say("%s does not require credentials, so these could not be checked", strings.Split(result.Registry, "/")[0])
	}
	return a.result(result, func() string {
		return fmt.Sprintf("Logged in to %s as %s; the credentials are in %s.\n", result.Registry, result.User, result.File)
	})
}

// askCredential reads user name and password from in, which may be a terminal.
func (a *app) askCredential(f *loginFlags, in io.Reader) (keychain.Credential, error) {
	var c keychain.Credential
	if !f.passwordStdin {
		file, ok := in.(*os.File)
		if !ok || !term.IsTerminal(int(file.Fd())) {
			return c, usageHint("give it with -u USER --password-stdin", "there is no terminal to read the password from")
		}
		if err := a.makeRaw(file); err != nil {
			return c, fmt.Errorf("asking for the password: %w", err)
		}
		c, err := prompt(struct {
			io.Reader
			io.Writer
		}{file, a.stderr}, f.user)
		return c, errors.Join(err, a.restoreTerminal())
	}
	if f.user == "" {
		return c, usageHint("give it with -u USER", "--password-stdin requires a user name")
	}
	text, err := io.ReadAll(io.LimitReader(in, env.MaxPassword+1))
	if err != nil {
		return c, fmt.Errorf("reading the password from standard input: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	return keychain.Credential{Username: f.user, Password: password}, nil
}

// prompt reads the credentials from a terminal in raw mode. Ctrl-C and Ctrl-D end the input.
func prompt(rw io.ReadWriter, user string) (c keychain.Credential, err error) {
	t := term.NewTerminal(rw, "User name: ")
	if user == "" {
		if user, err = t.ReadLine(); err != nil {
			return c, unanswered(rw, "asking for the user", err)
		}
	}
	password, err := t.ReadPassword("Password: ")
	if err != nil {
		return c, unanswered(rw, "asking for the password", err)
	}
	return keychain.Credential{Username: strings.TrimSpace(user), Password: password}, nil
}

// unanswered ends the line of the prompt. doing is what failed.
func unanswered(screen io.Writer, doing string, err error) error {
	_, _ = io.WriteString(screen, "\r\n")
	if err == io.EOF {
		return errInterrupted
	}
	return fmt.Errorf("%s: %w", doing, err)
}
