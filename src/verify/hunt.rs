//! Trying mutants: round by round at each place, several places at a time.
//!
//! A place is one job: its rounds need each other's answers. A round is run to its end, since one survivor
//! in it is a finding whatever its neighbours say; the next round is run only where none of its mutants was
//! killed or survived.
//!
//! A mutant that ran out of time is tried once more, alone on the machine and with twice the time, unless
//! the caller fixed the time: a busy machine says nothing of the change.
//!
//! A kill must be the mutant's doing. Something that an earlier run left (a file that git ignores, a row in a
//! table) can make the tests fail whatever the mutant is, and would kill all of them. So the head's own
//! tests are run again where the mutants ran: after the first kill, then each time as many kills as before
//! came together, and at the end. Kills count, and are remembered, once such a control passed. Where it
//! fails, the kills since the last good one are void, and nothing more is tried: the answer is
//! inconclusive. A survivor needs no control, its tests passed.
//!
//! Results do not depend on the number of jobs: they are put in the order of the places at the end. Jobs
//! that share something outside their folders (a port, a database) can break each other's tests, and a test
//! broken that way would look like a kill. So each further folder must first pass the unmutated tests while
//! the others are at theirs; one job, the default, has no such question.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tokio::sync::RwLock;

use super::journal::{self, Journal};
use super::reading::{self, Fate, Health, Reports, Tests};
use super::run::End;
use super::spots::Spot;
use super::workshop::{Workshop, Yard};
use super::{Budget, Commands, Said, Watch};
use crate::domain::evidence::MutantStatus;
use crate::domain::mutants::Mutant;

/// A mutant and what became of it.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    pub mutant: Mutant,
    pub fate: Fate,
    pub took: Option<Duration>,
}

/// How long builds and tests may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub build: Duration,
    pub test: Duration,
    /// The caller fixed them.
    pub fixed: bool,
}

impl Bounds {
    /// What a mutant that ended so gets for one more try; `None` where it gets none.
    fn once_more(self, ended: MutantStatus) -> Option<Self> {
        let again = ended == MutantStatus::Timeout && !self.fixed;
        again.then(|| Self {
            build: self.build * 2,
            test: self.test * 2,
            fixed: true,
        })
    }

    /// What the head gets that passed once and is asked again. A mutant may hang; the head is known to end, and
    /// only a machine that got slower makes it late.
    fn for_the_head(self) -> Self {
        let times = if self.fixed { 2 } else { 10 };
        Self {
            build: self.build.saturating_mul(times),
            test: self.test.saturating_mul(times),
            fixed: true,
        }
    }
}

/// What a hunt needs.
pub(super) struct Hunt<'a> {
    pub yard: &'a Yard,
    pub commands: &'a Commands,
    pub reports: &'a Reports,
    pub baseline: &'a Tests,
    pub bounds: Bounds,
    pub budget: Option<Budget>,
    pub watch: &'a dyn Watch,
    /// When the budget of time began.
    pub since: Instant,
}

/// What a hunt brings home.
pub(super) struct Bag {
    /// For each place what was tried there.
    pub tried: Vec<Vec<Tried>>,
    /// The folders it happened in.
    pub workshops: Vec<Workshop>,
    /// Why kills are not believed, where they are not.
    pub doubt: Option<String>,
}

/// At most so many kills wait for a control.
const MOST_WAITING: usize = 16;

/// The kills in one folder since the last control.
struct Waiting {
    kills: Vec<(String, Fate, Duration)>,
    /// So many make the next control due.
    most: usize,
}

/// What the jobs share.
struct Shared<'a> {
    waiting: Mutex<VecDeque<usize>>,
    found: Mutex<Vec<Option<Vec<Tried>>>>,
    journal: Mutex<&'a mut Journal>,
    /// How many mutants were run.
    run: Mutex<usize>,
    /// Why kills are not believed.
    doubt: Mutex<Option<String>>,
    /// The names of mutants whose kills are void.
    void: Mutex<BTreeSet<String>>,
    /// Held for reading while a mutant runs, for writing by one that must be alone.
    alone: RwLock<()>,
}

/// For a mutant whose kill does not count.
const NO_KILL: &str = "the head's own tests fail there as well";

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hunt<'_> {
    /// Tries everything; for each place what was tried there.
    ///
    /// # Errors
    /// When a work folder could not be kept at the head.
    pub async fn go(
        &self,
        spots: &[Spot],
        mut first: Workshop,
        jobs: usize,
        journal: &mut Journal,
    ) -> Result<Bag, String> {
        if let Some(why) = self.control_change(&mut first, spots).await? {
            return Ok(self.nothing_tried(spots, first, why));
        }
        let shared = Shared {
            waiting: Mutex::new((0..spots.len()).collect()),
            found: Mutex::new(vec![None; spots.len()]),
            journal: Mutex::new(journal),
            run: Mutex::new(0),
            doubt: Mutex::new(None),
            void: Mutex::new(BTreeSet::new()),
            alone: RwLock::new(()),
        };
        let mut further = Vec::new();
        for number in 1..jobs.min(spots.len()) {
            further.push(self.yard.workshop(number).await?);
        }
        let shared = &shared;
        let first = self.work(first, spots, shared);
        let further = further.into_iter().map(|workshop| async {
            let mut workshop = workshop;
            match self.is_fit(&mut workshop).await? {
                true => self.work(workshop, spots, shared).await,
                false => Ok(workshop),
            }
        });
        let further = futures::future::try_join_all(further);
        let (first, mut workshops) = tokio::try_join!(first, further)?;
        workshops.insert(0, first);
        let found = std::mem::take(&mut *locked(&shared.found));
        let found = found.into_iter().map(Option::unwrap_or_default);
        let mut tried: Vec<_> = found.collect();
        let void = std::mem::take(&mut *locked(&shared.void));
        for one in tried.iter_mut().flatten() {
            if void.contains(&journal::name(&one.mutant)) {
                one.fate = Fate::of(MutantStatus::Unviable, NO_KILL);
            }
        }
        let doubt = locked(&shared.doubt).take();
        Ok(Bag {
            tried,
            workshops,
            doubt,
        })
    }

    /// Every place left as it is, because no kill would show anything.
    fn nothing_tried(&self, spots: &[Spot], first: Workshop, why: String) -> Bag {
        let left = |spot: &Spot| {
            let barred = spot.barred.clone();
            let why = barred.unwrap_or_else(|| {
                "nothing was tried, since no kill would show anything".to_owned()
            });
            let fate = Fate::of(MutantStatus::Skipped, why);
            vec![self.told(spot.stand_in.clone(), fate, None)]
        };
        Bag {
            tried: spots.iter().map(left).collect(),
            workshops: vec![first],
            doubt: Some(why),
        }
    }

    /// Whether the head's own tests pass in a further folder as they did in the first.
    async fn is_fit(&self, workshop: &mut Workshop) -> Result<bool, String> {
        if let Some(build) = &self.commands.build {
            let built = workshop.run(build, self.bounds.build * 2).await?;
            if built.end != End::Code(0) {
                let why = format!("a second work folder does not build: {}", built.end.told());
                self.watch.said(Said::Note(why));
                return Ok(false);
            }
        }
        workshop.keep().await?;
        let tests = self.tests(workshop, self.bounds.test * 2).await?;
        workshop.mend(self.yard).await?;
        workshop.tidy().await?;
        let fit = reading::health(&tests) == Health::Green;
        if !fit {
            let why =
                "the tests do not pass in a second folder at the same time: one job less is used";
            self.watch.said(Said::Note(why.to_owned()));
        }
        Ok(fit)
    }

    async fn tests(&self, workshop: &Workshop, limit: Duration) -> Result<Tests, String> {
        let work = &workshop.room.work;
        self.reports.clear(work);
        let ran = workshop.run(&self.commands.test, limit).await?;
        Ok(Tests::read(ran, self.reports, work))
    }

    async fn work(
        &self,
        mut workshop: Workshop,
        spots: &[Spot],
        shared: &Shared<'_>,
    ) -> Result<Workshop, String> {
        let mut waiting = Waiting {
            kills: Vec::new(),
            most: 1,
        };
        loop {
            let Some(index) = locked(&shared.waiting).pop_front() else {
                self.control(&mut workshop, &mut waiting, shared).await?;
                return Ok(workshop);
            };
            let spot = &spots[index];
            let tried = self.at(&mut workshop, spot, &mut waiting, shared).await?;
            locked(&shared.found)[index] = Some(tried);
        }
    }

    /// Whether the head still passes where kills were seen; without that, they are none.
    async fn control(
        &self,
        workshop: &mut Workshop,
        waiting: &mut Waiting,
        shared: &Shared<'_>,
    ) -> Result<(), String> {
        if waiting.kills.is_empty() {
            return Ok(());
        }
        let kills = std::mem::take(&mut waiting.kills);
        let doubted = locked(&shared.doubt).is_some();
        if !doubted {
            let _one_of_many = shared.alone.read().await;
            let why = self.changed(workshop).await?;
            workshop.mend(self.yard).await?;
            workshop.tidy().await?;
            let Some(why) = why else {
                waiting.most = (waiting.most * 2).min(MOST_WAITING);
                let mut journal = locked(&shared.journal);
                for (name, fate, took) in kills {
                    journal.note(&name, &fate, took.as_secs_f64())?;
                }
                return Ok(());
            };
            self.watch.said(Said::Note(why.clone()));
            locked(&shared.doubt).get_or_insert(why);
        }
        let names = kills.into_iter().map(|(name, ..)| name);
        locked(&shared.void).extend(names);
        Ok(())
    }

    /// Builds and tests the head once more; why it is not what it was. It has more time than any mutant: a
    /// machine that others load meanwhile must not void what was seen.
    pub(super) async fn changed(&self, workshop: &Workshop) -> Result<Option<String>, String> {
        let bounds = self.bounds.for_the_head();
        if let Some(build) = &self.commands.build {
            let built = workshop.run(build, bounds.build).await?;
            match built.end {
                End::Code(0) => {}
                End::TimedOut => return Ok(Some(late("the build"))),
                end => return Ok(Some(unlike(&format!("the build: {}", end.told())))),
            }
        }
        let tests = self.tests(workshop, bounds.test).await?;
        Ok(match reading::health(&tests) {
            Health::Green => None,
            Health::Red(names) => Some(unlike(names.first().map_or("", String::as_str))),
            Health::Unclear(why) => Some(unlike(&why)),
            Health::TimedOut => Some(late("a run of the tests")),
        })
    }

    /// Everything at one place.
    async fn at(
        &self,
        workshop: &mut Workshop,
        spot: &Spot,
        waiting: &mut Waiting,
        shared: &Shared<'_>,
    ) -> Result<Vec<Tried>, String> {
        if let Some(why) = &spot.barred {
            let fate = Fate::of(MutantStatus::Skipped, why.clone());
            let stand_in = spot.stand_in.clone();
            return Ok(vec![self.told(stand_in, fate, None)]);
        }
        let mut all = Vec::new();
        for round in &spot.rounds {
            let from = all.len();
            for mutant in round {
                let (fate, took) = self.one(workshop, spot, mutant, waiting, shared).await?;
                all.push(self.told(mutant.clone(), fate, took));
            }
            let tried: &[Tried] = &all[from..];
            let over = tried
                .iter()
                .any(|one| one.fate.status == MutantStatus::Skipped);
            if over || tried.iter().any(|one| one.fate.decides()) {
                break;
            }
        }
        Ok(all)
    }

    fn told(&self, mutant: Mutant, fate: Fate, took: Option<Duration>) -> Tried {
        self.watch.said(Said::Tried {
            place: mutant.place(),
            what: mutant.what.clone(),
            status: fate.status,
            by: fate.killed_by.first().or(fate.note.as_ref()).cloned(),
        });
        Tried { mutant, fate, took }
    }

    /// One mutant: remembered, left out, or run.
    async fn one(
        &self,
        workshop: &mut Workshop,
        spot: &Spot,
        mutant: &Mutant,
        waiting: &mut Waiting,
        shared: &Shared<'_>,
    ) -> Result<(Fate, Option<Duration>), String> {
        let name = journal::name(mutant);
        if spot.broken.contains(&name) {
            // Without a build an interpreter would call it a failed test.
            let fate = Fate::of(
                MutantStatus::Unviable,
                "it is no text of its language any more",
            );
            return Ok((fate, None));
        }
        let known = locked(&shared.journal).recall(&name);
        if let Some((fate, seconds)) = known {
            return Ok((fate, Duration::try_from_secs_f64(seconds).ok()));
        }
        if locked(&shared.doubt).is_some() {
            return Ok((Fate::of(MutantStatus::Unviable, NO_KILL), None));
        }
        if let Some(why) = self.spent(shared) {
            return Ok((Fate::of(MutantStatus::Skipped, why), None));
        }
        let started = Instant::now();
        let mut fate = {
            let _one_of_many = shared.alone.read().await;
            self.run(workshop, spot, mutant, self.bounds).await?
        };
        if let Some(longer) = self.bounds.once_more(fate.status) {
            let _nobody_else = shared.alone.write().await;
            fate = self.run(workshop, spot, mutant, longer).await?;
        }
        let took = started.elapsed();
        // Policies may take a time-out for a kill.
        if matches!(fate.status, MutantStatus::Killed | MutantStatus::Timeout) {
            waiting.kills.push((name, fate.clone(), took));
            if waiting.kills.len() >= waiting.most {
                self.control(workshop, waiting, shared).await?;
            }
        } else {
            locked(&shared.journal).note(&name, &fate, took.as_secs_f64())?;
        }
        Ok((fate, Some(took)))
    }

    /// Why nothing more is run, where the budget is spent; counts one more where it is not.
    fn spent(&self, shared: &Shared<'_>) -> Option<String> {
        let mut run = locked(&shared.run);
        match self.budget {
            Some(Budget::Mutants(most)) if *run >= most => {
                return Some(match most {
                    1 => "the budget of one mutant was spent".to_owned(),
                    most => format!("the budget of {most} mutants was spent"),
                });
            }
            Some(Budget::Time(most)) if self.since.elapsed() >= most => {
                return Some(format!("the budget of {} s was spent", most.as_secs()));
            }
            _ => {}
        }
        *run += 1;
        None
    }

    /// Puts a mutant in, builds, tests, puts the head back.
    pub(super) async fn run(
        &self,
        workshop: &mut Workshop,
        spot: &Spot,
        mutant: &Mutant,
        bounds: Bounds,
    ) -> Result<Fate, String> {
        let replaced = match workshop.put(mutant, &spot.executable) {
            Ok(replaced) => replaced,
            Err(why) => {
                workshop.mend(self.yard).await?;
                return Ok(Fate::of(
                    MutantStatus::Unviable,
                    format!("it cannot be put there: {why}"),
                ));
            }
        };
        workshop.disclose(self.yard, mutant).await?;
        let fate = self.judged(workshop, bounds).await;
        // A test may have put a folder or a link where the file was; making the folder anew mends it all.
        if workshop.put_back(replaced).is_err() {
            workshop.lay(self.yard).await?;
        }
        workshop.mend(self.yard).await?;
        workshop.conceal()?;
        workshop.tidy().await?;
        fate
    }

    async fn judged(&self, workshop: &Workshop, bounds: Bounds) -> Result<Fate, String> {
        if let Some(build) = &self.commands.build {
            let built = workshop.run(build, bounds.build).await?;
            match built.end {
                End::Code(0) => {}
                End::TimedOut => {
                    return Ok(Fate::of(MutantStatus::Timeout, "the build ran out of time"));
                }
                end => {
                    let note = format!("the build failed: {}", end.told());
                    return Ok(Fate::of(MutantStatus::Unviable, note));
                }
            }
        }
        let tests = self.tests(workshop, bounds.test).await?;
        let was_built = self.commands.build.is_some();
        Ok(reading::fate(self.baseline, &tests, was_built))
    }
}

/// Why a head that passed and does not any more takes the worth from the kills.
fn unlike(told: &str) -> String {
    format!(
        "the head's own tests do not pass any more when they are run again where mutants ran ({told}), so the \
         kills show nothing: something that a run leaves behind (a file, a row in a table, a process), or \
         chance, makes them fail; have the tests begin from nothing, then verify again"
    )
}

/// Why a head that passed and is late now does.
fn late(what: &str) -> String {
    format!(
        "{what} of the head ran out of time when it was run again where mutants ran, so the kills show nothing: \
         the machine is much slower than it was, or something that a run leaves behind holds it up; verify \
         again, with --timeout for a machine whose load rises"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mutant_out_of_time_has_one_more_try_with_twice_the_time_unless_the_caller_fixed_it() {
        let seconds = Duration::from_secs;
        let bounds = Bounds {
            build: seconds(40),
            test: seconds(30),
            fixed: false,
        };
        let longer = bounds.once_more(MutantStatus::Timeout).unwrap();
        assert_eq!((longer.build, longer.test), (seconds(80), seconds(60)));
        // Not for ever: what runs out of that time as well has run out of time.
        assert!(longer.once_more(MutantStatus::Timeout).is_none());
        for ended in [
            MutantStatus::Killed,
            MutantStatus::Survived,
            MutantStatus::Unviable,
            MutantStatus::Skipped,
        ] {
            assert!(bounds.once_more(ended).is_none(), "{ended:?}");
        }
        let fixed = Bounds {
            fixed: true,
            ..bounds
        };
        assert!(fixed.once_more(MutantStatus::Timeout).is_none());
        // The head is known to end: a slower machine alone makes it late.
        assert_eq!(bounds.for_the_head().test, seconds(300));
        assert_eq!(fixed.for_the_head().test, seconds(60));
    }
}
