#!/usr/bin/env bash
# Runs one recipe on this machine, and records how it went. Written by openrecipes from launch/local.sh.j2:
# what `render` shows is, byte for byte, what a launch runs.
#
#   bash launch.sh [RUN_DIR]      RUN_DIR: where the run's files go; by default the folder run beside this script
#
# Leaves in RUN_DIR: job.json (start, end, exit status), environment.json, log/train.log (all output) and beside it
# arrivals.jsonl (when its lines came).
# shellcheck disable=SC2016,SC2317  # a dollar in a recipe's value stays a dollar; traps call what nothing else calls
set -u

# Starts again without the submitter's environment. Only these variables come along.
if [ "${1-}" = --clean ]; then
  shift
else
  kept=()
  for name in PATH HOME USER LANG LC_ALL TZ TMPDIR VIRTUAL_ENV CUDA_VISIBLE_DEVICES XDG_CACHE_HOME LD_LIBRARY_PATH; do
    if [ -n "${!name+set}" ]; then kept+=("$name=${!name}"); fi
  done
  exec env -i ${kept[@]+"${kept[@]}"} "$BASH" "$0" --clean "$@"
fi

here=$(cd -- "$(dirname -- "$0")" && pwd -P) || exit 2
RUN_DIR=${1:-$here/run}
mkdir -p -- "$RUN_DIR/log" && RUN_DIR=$(cd -- "$RUN_DIR" && pwd -P) || exit 2
export OPENRECIPES_RUN_DIR="$RUN_DIR"

# What this script starts inherits OPENRECIPES_RUN_DIR, wherever it moves: into another session, to another
# parent. By that variable's value, and by nothing else, a process is ours to end.
own_mark="OPENRECIPES_RUN_DIR=$OPENRECIPES_RUN_DIR"
own_processes() {
  grep -lzxF -- "$own_mark" /proc/[0-9]*/environ 2>/dev/null | tr -cd '0-9\n'
  ray_processes
}

# A process that gives itself a title, as Ray's do, loses its environment to it; its open files tell.
own_folder= # in which only processes of ours have files open
ray_processes() {
  local pid
  if [ -n "$own_folder" ]; then
    for pid in $(find /proc/[0-9]*/fd -maxdepth 1 -lname "$own_folder/*" 2>/dev/null | cut -d / -f 3 | sort -u); do
      if [ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ]; then echo "$pid"; fi
    done
  fi
}

# Those of them that have not ended, each as PID:BORN. One that is ending loses its environment and its files first, and
# for seconds holds what it has of the GPU, so the eye must be kept on those that were seen before.
still_there() { # PID[:BORN]...
  local one stat
  for one in "$@"; do
    { stat=$(<"/proc/${one%%:*}/stat"); } 2>/dev/null || continue
    read -ra stat <<<"${stat##*) }" # from the state on; a name may hold anything
    case "${stat[0]}" in Z | X) continue ;; esac
    case "$one" in *:*) if [ "${one#*:}" != "${stat[19]}" ]; then continue; fi ;; esac
    echo "${one%%:*}:${stat[19]}"
  done
}

# Ends them: TERM, then KILL to what is left after 15 s, and waits as long again until they are gone.
end_own_processes() {
  local signal pid known=()
  export -n "${own_mark%%=*}" # or the tools that look would find themselves
  for signal in TERM KILL; do
    # shellcheck disable=SC2046  # numbers
    mapfile -t known < <(still_there ${known[@]+"${known[@]}"} $(own_processes) | sort -u)
    for pid in ${known[@]+"${known[@]%%:*}"}; do kill -"$signal" "$pid" 2>/dev/null; done
    # Some of Ray's are deaf to TERM; Ray itself has had its time, and has ended.
    for pid in $(ray_processes); do kill -KILL "$pid" 2>/dev/null; done
    for ((tick = 0; tick < 10 * 15; tick++)); do
      # shellcheck disable=SC2046
      mapfile -t known < <(still_there ${known[@]+"${known[@]}"} $(own_processes) | sort -u)
      if [ "${#known[@]}" -eq 0 ]; then return; fi
      sleep 0.1
    done
  done
  echo "openrecipes: killed, and still there: processes ${known[*]%%:*}"
}

ask_to_end() { # PID
  kill -TERM "$1" 2>/dev/null
}

# Ends children, all at once: TERM, and KILL where that does not help for 15 s.
end_children() { # PID...
  local pid
  for pid in "$@"; do
    if [ "$asked" != "$pid" ]; then ask_to_end "$pid"; fi
  done
  for pid in "$@"; do
    for ((tick = 0; tick < 10 * 15; tick++)); do
      kill -0 "$pid" 2>/dev/null || continue 2
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null
  done
}

# Runs a program as our child and waits for it; returns its exit status. A signal to this script ends the
# child, and so does the end of one `beside` it, a child that it cannot work without.
child=
asked= # the child that has been sent TERM; torchrun takes a second one for a reason to leave its ranks
beside=()
stopped_by=
run_owned() {
  local status pid lost=
  if [ -n "$stopped_by" ]; then return 143; fi
  "$@" &
  child=$!
  while [ -z "$stopped_by$lost" ] && kill -0 "$child" 2>/dev/null; do
    if [ "${#beside[@]}" -eq 0 ]; then
      wait "$child"
      continue
    fi
    wait -n "$child" "${beside[@]}"
    for pid in "${beside[@]}"; do
      kill -0 "$pid" 2>/dev/null || lost=$pid
    done
  done
  if kill -0 "$child" 2>/dev/null; then
    if [ -n "$lost" ] && [ -z "$stopped_by" ]; then
      echo "openrecipes: the process beside this one has ended, so it ends too" >&2
    else
      lost=
    fi
    end_children "$child"
  else
    lost=
  fi
  wait "$child"
  status=$?
  child=
  if [ -n "$lost" ] && [ "$status" -eq 0 ]; then status=1; fi
  return "$status"
}

on_signal() {
  stopped_by=${stopped_by:-$1}
  if [ "$(type -t before_end)" = function ]; then before_end; fi
  if [ -n "$child" ] && [ "$asked" != "$child" ]; then
    asked=$child
    ask_to_end "$child"
  fi
}

finish() {
  local status=$? signal=
  trap '' TERM INT HUP
  trap - EXIT
  end_children ${beside[@]+"${beside[@]}"}
  end_own_processes
  case "$stopped_by" in
    TERM) status=143 ;;
    INT) status=130 ;;
    HUP) status=129 ;;
  esac
  signal=$stopped_by
  if [ "$(type -t clean_up)" = function ]; then clean_up "$status"; fi
  if [ "$(type -t record_end)" = function ]; then record_end "$status" "$signal"; fi
  if [ -n "$stopped_by" ] && [ -n "${ends_when_asked-}" ]; then status=0; fi
  exit "$status"
}

# From here on, whatever ends this script ends what it started.
finish_at_the_end() {
  trap finish EXIT
  trap 'on_signal TERM' TERM
  trap 'on_signal INT' INT
  trap 'on_signal HUP' HUP
}

# job.json: start, end and exit status, from here and nowhere else. GPU-hours are counted from it.
now() {
  local LC_ALL=C # the decimal point
  printf '%s' "${EPOCHREALTIME:-$(date +%s)}"
}

json_text() { # TEXT: in quotes, or null for none; of plain characters alone
  local LC_ALL=C
  local odd="[^A-Za-z0-9 .,:;()+=%@_'/-]"
  local text=${1//$odd/_}
  if [ -n "$text" ]; then printf '"%s"' "${text:0:500}"; else printf null; fi
}

job_json() { # END EXIT_STATUS SIGNAL CAUSE
  printf '{"schema_version": 1, "start_unix_s": %s, "end_unix_s": %s, "exit_status": %s, "signal": %s, "cause": %s, "host": %s, "pid": %s, "scheduler_id": %s}\n' \
    "$start" "$1" "$2" "$(json_text "$3")" "$(json_text "$4")" "$(json_text "${HOSTNAME:-unknown}")" "$$" "$(json_text "${scheduler_id-}")"
}

begin_job() {
  start=$(now)
  # Without clobbering: of two that run this script for one directory, one goes on.
  if ! (set -o noclobber && job_json null null "" "" >"$RUN_DIR/job.json") 2>/dev/null; then
    echo "openrecipes: $RUN_DIR/job.json exists or cannot be written: a run directory is used once" >&2
    exit 2
  fi
  finish_at_the_end
}

record_end() { # EXIT_STATUS SIGNAL
  local cause=
  if [ -n "${log_clock-}" ]; then end_children "$log_clock"; fi
  if [ "$1" -ne 0 ]; then
    # Whatever part of the launch ends a run says why, in a line of the log.
    cause=$(grep -a '^openrecipes: cause: ' "$RUN_DIR/log/train.log" 2>/dev/null | tail -n 1)
  fi
  job_json "$(now)" "$1" "$2" "${cause#openrecipes: cause: }" >"$RUN_DIR/.job.json.new" &&
    mv -f -- "$RUN_DIR/.job.json.new" "$RUN_DIR/job.json"
}

# When the log's lines came, by this machine's own clock: the score holds the trainer's step times against it. Looks
# about once a second, and writes where there are more lines: [seconds of the look before, of this one, lines so far].
log_clock=
clock_log() {
  local log=$RUN_DIR/log/train.log file=$RUN_DIR/log/arrivals.jsonl
  local began up look found inode size which='' seen=0 lines=0 told=0 since=0 looks=0 stop='' last=''
  # What it starts is not the trainer's to be ended with it: the last look comes after all that the run printed.
  export -n "${own_mark%%=*}"
  trap 'stop=1' TERM
  trap '' INT HUP
  # Hundredths of a second since this machine started: nobody sets that clock.
  read -r up _ </proc/uptime && began=$((10#${up/./})) || return
  printf '{"schema_version": 1, "start_unix_s": %s}\n' "$(now)" >"$file" || return
  while [ -z "$last" ] && [ "$looks" -lt 1000000 ]; do
    last=$stop
    read -r up _ </proc/uptime
    look=$((10#${up/./} - began))
    read -r inode size < <(stat -c '%i %s' -- "$log") || inode=none size=0
    read -r up _ </proc/uptime
    found=$((10#${up/./} - began))
    if [ "$size" -lt "$seen" ] || [ "$inode" != "$which" ]; then
      seen=0 lines=0
      if [ "$told" -gt 0 ]; then size=0; fi # cut short or replaced, which a count that falls tells
    fi
    if [ "$size" -gt "$seen" ]; then
      lines=$((lines + $(tail -c "+$((seen + 1))" -- "$log" | head -c "$((size - seen))" | wc -l)))
      seen=$size
    fi
    which=$inode
    if [ "$lines" -eq "$told" ]; then
      since=$look
    elif printf '[%d.%02d, %d.%02d, %d]\n' "$((since / 100))" "$((since % 100))" "$((found / 100))" \
      "$((found % 100))" "$lines" >>"$file"; then
      told=$lines since=$look looks=$((looks + 1))
    fi
    if [ -z "$last" ]; then
      sleep 1 &
      wait "$!"
      if [ -n "$stop" ]; then kill "$!"; fi
      if ! kill -0 "$$"; then stop=1; fi
    fi
  done
} 2>/dev/null

# The first line from FIRST to LAST of the log that tells of a death (signs/). A grep without -P finds none.
dead_line() { # FIRST LAST
  local -x LC_ALL=C
  local lines
  # Without what Ray and torchrun put before a line.
  lines=$(sed -nE "$1,$2{s/^\([^()]*pid=[0-9]+[^()]*\) ?//;s/^\[rank[0-9]+\]:? ?//;p}" "$RUN_DIR/log/train.log" |
    grep -aF -f "$here/signs/stems.txt")
  if [ -z "$lines" ]; then return; fi
  grep -aP -m 1 -f "$here/signs/fatal.pcre" <<<"$lines" 2>/dev/null && return
  if [ "$(grep -ac '^Traceback (most recent call last)' <<<"$lines")" -gt "$(grep -ac 'xception ignored in' <<<"$lines")" ]; then
    grep -aP -m 1 -f "$here/signs/raised.pcre" <<<"$lines" 2>/dev/null
  fi
}

# Ends with an error where no step comes any more: none for so many times the median step, no first one in time, or
# none for so long after a line that tells of a death. A run may live on after such a line, so it is given time.
watch_steps() {
  local log=$RUN_DIR/log/train.log seen=0 last=$SECONDS took=() steps median limit after=0 lines=0 looked=0 dead='' dead_since=0
  while sleep 5; do
    steps=$(grep -aoE "\bstep [0-9]+: [{]'" "$log" 2>/dev/null | sort -u | wc -l)
    if [ "$steps" -gt "$seen" ]; then
      took+=($(((SECONDS - last) / (steps - seen))))
      if [ "$seen" -eq 0 ]; then took=(); fi # the first took the start as well
      seen=$steps last=$SECONDS dead=''
      after=$(grep -anE "\bstep [0-9]+: [{]'" "$log" | tail -n 1 | cut -d : -f 1)
    fi
    if [ -z "$dead" ]; then
      if [ -f "$log" ]; then lines=$(wc -l <"$log"); fi # whole ones
      if [ "$lines" -gt "$looked" ]; then dead=$(dead_line "$((after + 1))" "$lines"); fi
      looked=$lines dead_since=$SECONDS
    elif [ $((SECONDS - dead_since)) -gt 600 ]; then
      echo "openrecipes: cause: no step for $((SECONDS - dead_since)) s after an error, and the trainer has not ended: ${dead:0:300}"
      return 1
    fi
    median=$(printf '%s\n' ${took[@]+"${took[@]}"} | sort -n | sed -n "$(((${#took[@]} + 2) / 2))p")
    if [ "$seen" -eq 0 ]; then
      limit=3600
    else
      limit=$((${median:-0} * 100 / 10))
      if [ "$limit" -lt 300 ]; then limit=300; fi
    fi
    if [ $((SECONDS - last)) -gt "$limit" ]; then
      echo "openrecipes: cause: hang, no step for $((SECONDS - last)) s after step $seen (limit $limit s, median ${median:-unknown} s)"
      return 1
    fi
  done
}

begin_job
exec >>"$RUN_DIR/log/train.log" 2>&1 </dev/null

enter=()
clock_log &
log_clock=$!
watch_steps &
beside+=("$!")
run_owned ${enter[@]+"${enter[@]}"} bash "$here/node.sh" "$RUN_DIR" "${HOSTNAME:-this}" 0
