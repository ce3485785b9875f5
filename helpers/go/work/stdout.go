package work

import (
	"errors"
	"log"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// takeStdout lets what is printed go to the log; returns the pipe of the answers.
var takeStdout = sync.OnceValue(func() *os.File {
	answers, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err = errors.Join(err, unix.Dup2(2, 1)); err != nil {
		log.Fatal("twtasks: stdout: ", err)
	}
	return os.NewFile(uintptr(answers), "answers")
})

// Before main() can print.  The sidecar marks its workers, so that other programs with this
// package keep their stdout.
func init() {
	if os.Getenv("TWTASKS_WORKER") != "" {
		_ = os.Unsetenv("TWTASKS_WORKER") // a child is not a worker
		takeStdout()
	}
}
