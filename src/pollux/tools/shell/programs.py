"""What is known of programs: which do only what their name says, and how the others reach beyond themselves.

Facts about programs and nothing else; `launchers` says what follows from them. A program is `PLAIN` when it takes no
code from its arguments, from its configuration or from the folder that it works in. A program that stands nowhere here
is not plain. Much of the rest is known from GTFOBins, the public list of programs that lend their rights to others.
Reading files is not reaching; that is for the sandbox to bound.
"""

import re

from pollux.core.frozen import frozen


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


@frozen
class Options:
    """What makes an otherwise harmless program reach further. In doubt a word counts."""

    letters: str = ""
    """Options of one letter, anywhere in a cluster."""
    names: frozenset[str] = frozenset()
    """Longer options. Abbreviations of those with two dashes count too, unless `is_exact`."""
    is_exact: bool = False
    operands: int | None = None
    """More words than this that are not options reach too: the next one would be written to."""
    pattern: re.Pattern[str] | None = None
    """Any word in which this is found reaches."""
    clusters_first: bool = False
    """Whether the first word is a cluster of letters also without a dash, as in `tar xf`."""


@frozen
class Subcommands:
    """A program whose first word says what it does. A first word that stands nowhere reaches, and so does an option."""

    direct: frozenset[str] = frozenset()
    """Those that only look."""
    named: frozenset[str] = frozenset()
    """Those that act, and are fully told by their name: a rule that spells it covers whatever follows."""
    flags: frozenset[str] = frozenset()
    """Harmless options that may stand before."""
    options: Options = Options()


PLAIN = _set(
    """
    ag b2sum base32 base64 basename basenc black cal cat chmod cksum cmp colrm column comm cut date df diff diff3
    dir dircolors dirname dmesg du echo egrep expand expr factor false fd fgrep file find fmt fold free grep groups hd
    head hexdump hostid hostname id join jq last locale logname look ls lsblk lscpu lsmem lsusb md5sum mkdir
    namei ncal nl nm nproc numfmt objdump od paste pathchk pgrep pr printenv printf ps ptx pwd readlink realpath rev rg
    rm rmdir ruff seq sha1sum sha224sum sha256sum sha384sum sha512sum shuf sleep sort ss stat strings sum sync tac tail
    tar test touch tr tree true tsort tty uname unexpand uniq unlink uptime users vmstat w wc whereis which who whoami
    xxd yes
    """
)
"""Take no code from arguments, configuration or folder, once those with `OPTIONS` are held to the harmless ones."""

PROJECT = _set("ack eslint mypy nox prettier pyright pytest tox tsc unittest")
"""Run what the project defines (configuration, plugins, tests), and nothing else unless told to by their `OPTIONS`."""

SYSTEM_FOLDERS = _set("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin")
"""Where a program spelled with its path is the one that its name says."""

VERSIONS = _set("bash make node perl pypy python ruby sh zsh")
"""Look into no folder when all that they are asked for is `--version`."""

ALWAYS = _set(
    """
    7z 7za ab acme.sh acr adiff agetty aider alpine ansible ansible-playbook ansible-test aoss apache2 apache2ctl
    apachectl apport-cli apptainer apt-get aptitude ar arch-nspawn aria2c arj arp as ascii-xfr aspell asterisk at
    atobm autoconf autoheader autoreconf aws axel bashbug bat batcat batch bazel bbot bc bconsole bee borg bower
    bpftrace bpython brew bridge bsdtar bun bundle bundler bunzip2 busctl bwrap byebug bzip2 c++ c89 c99 cabal
    cancel capsh cc cdist certbot certutil chattr check_by_ssh check_cups check_log check_memory check_raid
    check_ssl_cert check_statusfile chfn chsh clamscan clang clang++ claude clisp cmake cobc codex composer conda
    convert cowsay cowthink cp cpan cpanm cpio cpp cpulimit crash crontab crystal csc csplit csvtool ctest
    cupsfilter curl cvs dc dd debugfs deno dhclient dialog dig dmidecode dmsetup dnf dos2unix dosbox dotnet doxygen
    dpkg dpkg-deb dstat dvips easy_install eb ebuild ed efax elinks emacs emacsclient emerge enscript espeak ex
    exiftool expect fab facter fallocate fdisk ffmpeg finger flatpak flex fping ftp fuser fzf g++ gcc gcloud gcore
    gcov gdb gdbserver gem gemini genie genisoimage gfortran ghc ghci gimp ginsh git-lfs gitk gmake gnuplot gpg gpg2
    gradle groff groovy grunt gtester gulp gunzip gvim gzip hashcat helix helm hg highlight host hping3 htop http
    httpie https hx iconv iftop install invoke ip iptables ipython irb ispell java javac javaws jconsole jjs jmap
    joe journalctl jrunscript jshell jstack jtag jupyter just kak kdialog keytool kitty knife kotlin kotlinc ksshell
    ksu latex latexmk ld ldconfig ldd less lesspipe lftp links lldb ln loginctl logrotate lp lpr lualatex
    luatex lwp-download lwp-request lxc lxd lynx lz4 lzma m4 mail mailx make man mc mcedit mdadm meson micro minicom
    minikube mitmdump mkfifo mkfs mknod mmv mongo mongosh more mosh mosquitto mosquitto_pub most mount mpirun
    msfconsole msgattrib msgcat msgconv msgfilter msgmerge msguniq msmtp mtr mutt mv mvn mysql mysqldump nano nasm
    nc ncat ncdu ncftp needrestart neofetch neomutt neovim netcat nft nginx ninja nmap nroff nslookup ntpdate nvim
    objcopy ocaml octave octave-cli opam open opencode openvpn openvt opkg osascript pacman pandoc parted patch pax
    pdb pdfcrop pdflatex pdftex pdm perf perlbug pexec pg php-fpm pic pico pidstat ping ping6 pip-compile pipenv
    pipx pkg plymouth poetry posh pry psftp psql puppet pwsh pygmentize qemu-img qemu-system-x86_64 r rake ranger
    rbenv rclone rcp red redcarpet redis-cli redis-server rename restic rlogin rpm rpmbuild rpmdb rpmquery rpmverify
    rsh rsync rtorrent run-mailcap run-parts runscript rustc rustdoc rustfmt rustup rview rvim rye sash sbt scanmem
    scons scp screen scrot sdiff sendmail service setfacl sftp sg shred singularity slsh smbclient snap socat socket
    split sponge sqlite3 sqlmap ssh-add ssh-copy-id ssh-keygen ssh-keyscan sshfs start-stop-daemon strip su-exec
    sudoedit svn swift sysctl systemd-nspawn systemd-resolve tailscale task tasksh tcpdump tdbtool tee telnet
    terraform terragrunt tex tftp tic tig tinyproxy tmate tmux top troff truncate tshark unison unlzma unrar
    unsquashfs unxz unzip unzstd update-alternatives uudecode uv vagrant varnishncsa vi view vigr vim vimdiff vipw
    virsh visudo vlc volatility w3m wall wget whiptail whois wipefs wireshark write xdg-open xdg-user-dir xdotool
    xelatex xetex xmodmap xmore xpad xz yarnpkg yelp yt-dlp yum zathura zenity zip zless zsoelim zstd zypper
    """
)
"""Reach whatever they are told."""

MODULES = _set(
    """
    code compileall cprofile ensurepip http.server idlelib json.tool profile py_compile pydoc runpy tarfile timeit
    trace venv virtualenv webbrowser zipapp zipfile
    """
)
"""Modules that `python -m` may name and that reach whatever they are told."""


WRAPPERS = dict.fromkeys(
    _set(
        """
        aa-exec builtin bunx busybox catchsegv ccache choom command coproc dbus-run-session distcc doas eatmydata
        env exec fakeroot firejail gamemoderun grc i386 ionice linux32 linux64 ltrace multitime nice nocache nohup
        npx nsenter numactl pkexec pnpx prlimit proot proxychains rlwrap schroot setpriv setsid softlimit ssh-agent
        sshpass stdbuf strace sudo sudo-rs systemd-inhibit systemd-run time torify torsocks toybox tsocks unbuffer
        unshare uvx valgrind x86_64 xvfb-run
        """
    ),
    0,
) | {
    "chroot": 1,
    "chrt": 1,
    "direnv exec": 1,
    "faketime": 1,
    "flock": 1,
    "logsave": 1,
    "rustup run": 1,
    "setarch": 1,
    "setlock": 1,
    "taskset": 1,
    "timeout": 1,
    "bundle exec": 0,
    "hatch run": 0,
    "mise exec": 0,
    "pdm run": 0,
    "pipenv run": 0,
    "pipx run": 0,
    "poetry run": 0,
    "rye run": 0,
    "uv run": 0,
}
"""Run the words after their own options as a command, unchanged. The number: how many words of their own come first."""

LOADER = "ld.so"
"""The dynamic loader, under all of its names."""

RELAYS = {
    LOADER: 0,
    "docker exec": 1,
    "docker run": 1,
    "entr": 0,
    "eval": 0,
    "kubectl exec": 1,
    "parallel": 0,
    "podman exec": 1,
    "podman run": 1,
    "runuser": 0,
    "script": 0,
    "ssh": 1,
    "su": 1,
    "trap": 0,
    "watch": 0,
    "xargs": 0,
}
"""Run a command too, but not only the words that stand there: a shell reads them again, or others are added."""

COMMAND_OPTIONS = {
    "bunx": "c",
    "env": "S",
    "flock": "c",
    "npx": "c",
    "pnpx": "c",
    "runuser": "c",
    "script": "c",
    "su": "c",
}
"""Launchers with an option that takes a command, also behind it in one word: its letter. Long options may all be it."""

SHELLS = _set("ash bash csh dash elvish es fish ksh mksh nu oksh osh pdksh rbash rc rksh sh tcsh xonsh yash zsh")

INTERPRETERS = dict.fromkeys(SHELLS, _set("-e -u -x -eu -ex -eux -n -v")) | {
    "python": _set("-u -B -E -I -s -S -O -OO -q -v -b -d -P"),
    "pypy": _set("-u -B -E -I -s -S -O -OO -q -v"),
    "perl": _set("-w -T -t"),
    "ruby": _set("-w -W0 -W1 -W2"),
    "node": _set("--no-warnings --enable-source-maps --trace-warnings"),
    "rscript": _set("--vanilla"),
    **dict.fromkeys(_set("elixir guile julia lua luajit php racket raku tclsh wish"), _set("")),
}
"""Run a file of code, named by the first word after these harmless options, and hand it the rest."""

RUNNERS = {"npm": _set("start stop t test"), "pnpm": _set("start t test"), "yarn": _set("start test")}
"""Run what the project defines, by `run NAME` or in short. Their own options may stand anywhere before `--`."""

SUBCOMMANDS = {
    "apt": Subcommands(_set("list policy search show"), options=Options("co", _set("--config-file --option"))),
    "apt-cache": Subcommands(
        _set("depends madison pkgnames policy rdepends search show showpkg stats"),
        options=Options("co", _set("--config-file --option")),
    ),
    "cargo": Subcommands(
        named=_set("bench build check clippy doc fmt metadata run test tree"),
        options=Options("CZ", _set("--artifact-dir --config --manifest-path --out-dir --target-dir")),
    ),
    "docker": Subcommands(_set("diff events history images info inspect logs port ps stats top version")),
    "gh": Subcommands(
        named=_set("issue pr release repo run search status"), options=Options("ew", _set("--editor --web"))
    ),
    "git": Subcommands(
        direct=_set(
            """annotate blame cat-file check-attr check-ignore cherry count-objects diff diff-tree for-each-ref
            grep log ls-files ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show
            show-branch show-ref status version whatchanged"""
        ),
        named=_set("add branch checkout commit fetch mv push remote reset restore rm stash switch tag"),
        flags=_set("--literal-pathspecs --no-optional-locks --no-pager --no-replace-objects"),
        options=Options(
            "O",
            _set(
                """--config --config-env --contents --edit --edit-description --exec --ext-diff --filters --help
                --ignore-submodules --open-files-in-pager --output --output-directory --paginate --receive-pack
                --recurse-submodules --submodule --template --textconv --upload-pack"""
            ),
            pattern=re.compile("^[A-Za-z0-9+]+::"),
        ),
    ),
    "go": Subcommands(
        direct=_set("version"),
        named=_set("build fmt list test vet"),
        options=Options(
            names=_set(
                """-C -asmflags -blockprofile -c -compiler -coverprofile -cpuprofile -debug-actiongraph -debug-trace
                -exec -gccgoflags -gcflags -ldflags -memprofile -modfile -mutexprofile -o -outputdir -overlay -pkgdir
                -toolexec -trace -vettool"""
            )
        ),
    ),
    "kubectl": Subcommands(
        _set("api-resources api-versions cluster-info describe explain get logs top version"),
        options=Options(
            "s",
            _set("--cache-dir --kubeconfig --log-dir --log-file --output-directory --profile-output --server --token"),
        ),
    ),
    "openssl": Subcommands(_set("version")),
    "pip": Subcommands(
        _set("check freeze list show"),
        options=Options("i", _set("--extra-index-url --index-url --log --proxy --python")),
    ),
    "podman": Subcommands(_set("diff events history images info inspect logs port ps stats top version")),
    "systemctl": Subcommands(
        named=_set(
            """cat is-active is-enabled is-failed list-timers list-unit-files list-units reload restart show start
            status stop"""
        ),
        options=Options("HM", _set("--host --image --machine --root")),
    ),
    "timedatectl": Subcommands(named=_set("show status"), options=Options("HM", _set("--host --machine"))),
}

OPTIONS = {
    "ack": Options(names=_set("--ackrc --files-from --output --pager")),
    "ag": Options(names=_set("--pager")),
    "base64": Options("o", _set("--output")),
    "black": Options("c", _set("--code --config")),
    # Any operand but a format sets the clock.
    "date": Options(names=_set("--set"), pattern=re.compile("^-[^I-]*s|^[^-+]")),
    "diff": Options("l", _set("--paginate")),
    "diff3": Options(names=_set("--diff-program")),
    "dmesg": Options("CDEHcn", _set("--clear --console-level --console-off --console-on --human --read-clear")),
    "eslint": Options(
        "cfo",
        _set(
            """--cache-file --cache-location --config --fix --format --init --output-file --parser --plugin
            --resolve-plugins-relative-to --rulesdir"""
        ),
    ),
    "fd": Options("xX", _set("--exec --exec-batch")),
    "file": Options("CZmz", _set("--compile --magic-file --uncompress --uncompress-noreport")),
    "find": Options(names=_set("-delete -exec -execdir -files0-from -fls -fprint -fprint0 -fprintf -ok -okdir")),
    "hostname": Options("Fb", _set("--boot --file"), operands=0),
    "mypy": Options(
        "c",
        _set(
            """--any-exprs-report --cache-dir --cobertura-xml-report --command --config-file --html-report
            --install-types --junit-xml --linecount-report --linecoverage-report --lineprecision-report
            --python-executable --txt-report --xml-report --xslt-html-report --xslt-txt-report"""
        ),
        pattern=re.compile("^@"),
    ),
    # Behind `@` stands a file with more options.
    "nm": Options(names=_set("--plugin"), pattern=re.compile("^@")),
    "nox": Options("f", _set("--envdir --noxfile")),
    "objdump": Options(names=_set("--plugin"), pattern=re.compile("^@")),
    "prettier": Options("w", _set("--cache-location --config --plugin --plugin-search-dir --write")),
    "ptx": Options("G", _set("--traditional"), operands=1),
    "pyright": Options("pv", _set("--createstub --project --pythonpath --typeshedpath --venv-path --venvpath")),
    "pytest": Options(
        "Wcop",
        _set(
            """--basetemp --confcutdir --config-file --cov-config --cov-report --debug --html --import-mode
            --junit-prefix --junit-xml --junitxml --log-file --override-ini --pastebin --pdb --pdbcls --px
            --pythonwarnings --report-log --rootdir --trace --tx"""
        ),
        is_exact=True,
        pattern=re.compile("^@"),
    ),
    "rg": Options("z", _set("--hostname-bin --pre --search-zip")),
    "ruff": Options(
        "o",
        _set("--add-noqa --cache-dir --config --fix --fix-only --output-file --unsafe-fixes"),
        pattern=re.compile("^@|^server$"),
    ),
    "shuf": Options("o", _set("--output")),
    "sort": Options("To", _set("--compress-program --output --temporary-directory")),
    "ss": Options("DK", _set("--diag --kill")),
    "tar": Options(
        # A list of files (-T) may hold options.
        "AFIMTcgrux",
        _set(
            """--append --catenate --checkpoint-action --concatenate --create --delete --extract --get --index-file
            --info-script --new-volume-script --rmt-command --rsh-command --to-command --update
            --use-compress-program"""
        ),
        pattern=re.compile(":|^--(files|liste|mu|vol)"),
        clusters_first=True,
    ),
    "tox": Options(
        "cx", _set("--conf --override --result-json --root --workdir"), pattern=re.compile("^(d|devenv|e|exec)$")
    ),
    "tree": Options("Ro"),
    "tsc": Options(
        "bp",
        _set(
            """--build --declarationDir --generateCpuProfile --generateTrace --init --outDir --outFile --plugins
            --project --tsBuildInfoFile"""
        ),
        pattern=re.compile("^@"),
    ),
    "uniq": Options(operands=1),
    "xxd": Options("r", _set("-revert --revert"), operands=1),
}
"""What makes a plain program reach further, and one of a project run something else."""

ALIASES = {
    "fdfind": "fd",
    "gawk": "awk",
    "gfind": "find",
    "gsed": "sed",
    "gtar": "tar",
    "mawk": "awk",
    "nawk": "awk",
    "nodejs": "node",
    "original-awk": "awk",
    "pip3": "pip",
    "py.test": "pytest",
}
"""The same program under another name."""
