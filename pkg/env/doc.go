// Package env is what a program gives to every verb: how registries are reached, where logs, notices and
// progress go, and which folders of the user and of the machine are read. It knows no verb.
//
// The three main types:
//
//   - Env has clients for registries, made once for each side and shared, and the sinks of notices and logs.
//   - Registries are the settings of a program for registries: credentials, certificates, limits, retries.
//   - Observer follows a run: a program draws its progress with it.
//
// An Env with its zero value reads credentials where podman and docker keep them, and logs and prints
// nothing. Use one Env for all calls of a program, and Close it at the end.
//
// Env never decides what is planned, copied or deleted, and it holds no state of a single run. Errors about
// options are made with Inputf and InputHint: they name fields as Options.Field, which a command line
// translates into its flags.
//
// Start with Env in env.go, then read Client in registries.go.
package env
